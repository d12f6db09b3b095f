use holdup_pirate::*;
fn main() { let root=std::path::Path::new("/"); let place=Place::choose(root,&allowed_cpus()).unwrap(); explore(root, &place); }
