use holdup_pirate::*;
fn main() { let root=std::path::Path::new("/"); let place=Place::choose(root,&allowed_cpus()).unwrap();  
    for _ in 0..3 {
    match calibrate(root, &place) {
        Ok(c) => {
            println!("{:?} available {:?} spread {:.2} holdable {} knee {:?} huge {:?} took {} ms", c.limit, c.available, c.available.spread(), c.holdable>>20, c.knee, c.huge_share, c.took_ns/1_000_000);
            for at in 0..c.rounds[0].len() { println!("{:6.1} {}", c.rounds[0][at].bytes as f64/1048576.0, c.rounds.iter().map(|r| format!("{:5.1}% {:5.1} ns  ", r[at].missed*100.0, r[at].chase_ns)).collect::<String>()); }
            println!("{:?}", steady(&[&c]));
        }
        Err(e) => println!("{e}"),
    }}
    let t = Thief::new(root, &place).unwrap();
    println!("thief {:?}", t.strongest(200_000_000));
}
