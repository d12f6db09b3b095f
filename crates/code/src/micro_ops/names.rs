//! Classes by mnemonic. Intel's names are systematic, so rows of names and of their beginnings say it.

use std::sync::LazyLock;

use iced_x86::Mnemonic;

use super::OpClass;
use super::OpClass::{
    Bits, Clock, Convert, Crypto, Divide, DoubleDivide, DoubleRoot, Fence, FloatAdd, FloatDivide,
    FloatMultiply, FloatMultiplyAdd, FloatRoot, FromGeneral, Horizontal, Integer, Move, Multiply, Nothing,
    Pause, Shift, Shuffle, StringCompare, System, ToGeneral, Vector, VectorMultiply, VectorShift,
    WideShuffle, X87Long, X87Move,
};

/// General instructions. A name with a star stands for all that begin so; the first row that fits decides.
const GENERAL: &[(OpClass, &str)] = &[
    (Move, "mov movzx movsx movsxd movnti movdiri xchg push pop pushf pushfd pushfq popf popfd popfq xlatb"),
    (
        Integer,
        "add sub and or xor cmp test inc dec neg not adc sbb adcx adox andn blsi blsmsk blsr bextr bzhi",
    ),
    (
        Integer,
        "bt btc btr bts xadd cmpxchg cmpxchg8b cmpxchg16b clc stc cmc lahf sahf cbw cwde cdqe cwd cdq cqo",
    ),
    (
        Integer,
        "bswap movbe lea leave cmova cmovae cmovb cmovbe cmove cmovg cmovge cmovl cmovle cmovne cmovno",
    ),
    (Integer, "cmovnp cmovns cmovo cmovp cmovs seta setae setb setbe sete setg setge setl setle setne setno"),
    (Integer, "setnp setns seto setp sets"),
    (Shift, "shl sal shr sar rol ror rcl rcr shld shrd sarx shlx shrx rorx"),
    (Bits, "popcnt lzcnt tzcnt bsf bsr pdep pext crc32"),
    (Multiply, "mul imul mulx"),
    (Divide, "div idiv"),
    (Nothing, "nop endbr32 endbr64 fnop vzeroupper prefetch*"),
    (Fence, "mfence lfence sfence serialize"),
    (Pause, "pause"),
    (Clock, "rdtsc rdtscp"),
    (System, "syscall sysenter int int1 int3 into ud0 ud1 ud2 hlt cpuid"),
];

/// Instructions of the x87.
const X87: &[(OpClass, &str)] = &[
    (Convert, "fild fist fistp fisttp frndint"),
    (X87Move, "fld fld1 fldz fldpi fldl2e fldl2t fldlg2 fldln2 fst fstp fxch fabs fchs ffree ffreep fincstp"),
    (X87Move, "fdecstp fcmov* fldcw fnstcw fstcw fnstsw fstsw wait emms"),
    (FloatAdd, "fadd* fsub* fiadd fisub* fcom* fucom* ficom* ftst fxam"),
    (FloatMultiply, "fmul* fimul"),
    (DoubleDivide, "fdiv* fidiv*"),
    (DoubleRoot, "fsqrt"),
    (X87Long, "fsin* fcos fptan fpatan f2xm1 fyl2x* fprem* fscale fxtract fbld fbstp"),
];

/// Instructions of vector and mask registers, without the V of AVX.
const VECTOR: &[(OpClass, &str)] = &[
    (ToGeneral, "movmsk* pmovmskb pextr* extractps ptest testps testpd comis* ucomis* comish ucomish"),
    (ToGeneral, "kortest* ktest*"),
    (FromGeneral, "pinsr*"),
    (Vector, "maskmov* pmaskmov* ptestm* ptestnm* pmovm2* pmovb2m pmovw2m pmovd2m pmovq2m"),
    (Shuffle, "movhlps movlhps movlps movlpd movhps movhpd movddup movshdup movsldup movq2dq movdq2q"),
    (
        Shuffle,
        "pslldq psrldq pshuf* punpck* pack* palignr pblend* pmovsx* pmovzx* unpck* shufp* insertps permil*",
    ),
    (Move, "mova* movu* movd movq movdq* movnt* movss movsd movsh movw lddqu kmov*"),
    (WideShuffle, "perm2f128 perm2i128 permb permw permd permq permps permpd permi2* permt2* pbroadcast*"),
    (
        WideShuffle,
        "broadcast* insertf* inserti* extractf* extracti* align* compress* pcompress* expand* pexpand*",
    ),
    (WideShuffle, "pmov* kunpck* kshift* shuff* shufi* pmultishiftqb"),
    (StringCompare, "pcmpestr* pcmpistr*"),
    (Crypto, "aes* sha1* sha256* gf2p8* pclmulqdq"),
    (VectorMultiply, "pmul* pmadd* psadbw mpsadbw dbpsadbw pdpb* pdpw* phminposuw"),
    (Horizontal, "phadd* phsub* haddp* hsubp* dpps dppd"),
    (VectorShift, "psll* psrl* psra* prol* pror* prot* pshld* pshrd*"),
    (Vector, "padd* psub* pand* por pord porq pxor* pavg* pmax* pmin* pabs* psign* pcmpeq* pcmpgt* pcmp*"),
    (Vector, "pternlog* popcnt* plzcnt* andp* andnp* orp* xorp* blend*"),
    (Vector, "kadd* kand* knot* kor* kxnor* kxor*"),
    (FloatAdd, "addp* adds* subp* subs* maxp* maxs* minp* mins* cmpp* cmps* fpclass*"),
    (FloatMultiply, "mulp* muls* rcp* rsqrt*"),
    (FloatMultiplyAdd, "fmadd* fmsub* fnmadd* fnmsub*"),
    (FloatDivide, "divps divss divph divsh"),
    (DoubleDivide, "divpd divsd"),
    (FloatRoot, "sqrtps sqrtss sqrtph sqrtsh"),
    (DoubleRoot, "sqrtpd sqrtsd"),
    (Convert, "cvt* round* rndscale* reduce* getexp* getmant* range* scalef* fixupimm*"),
];

/// Zero if both operands are the same, and known to be so when decoded.
const ZEROING: &str =
    "xor sub pxor pxord pxorq xorps xorpd psubb psubw psubd psubq pcmpgtb pcmpgtw pcmpgtd pcmpgtq";

#[derive(Clone, Copy)]
struct Entry {
    class: OpClass,
    is_x87: bool,
    can_zero: bool,
    is_broadcast: bool,
}

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| Mnemonic::values().map(entry).collect());

fn entry(mnemonic: Mnemonic) -> Entry {
    let name = format!("{mnemonic:?}").to_lowercase();
    let vector = name.strip_prefix('v').unwrap_or(&name);
    let x87 = find(X87, &name);
    let class = find(GENERAL, &name).or(x87).or_else(|| find(VECTOR, vector)).unwrap_or(OpClass::Other);
    Entry {
        class,
        is_x87: x87.is_some(),
        can_zero: fits(ZEROING, vector),
        is_broadcast: vector.starts_with("broadcast") || vector.starts_with("pbroadcast"),
    }
}

fn find(rows: &[(OpClass, &str)], name: &str) -> Option<OpClass> {
    rows.iter().find(|(_, patterns)| fits(patterns, name)).map(|(class, _)| *class)
}

fn fits(patterns: &str, name: &str) -> bool {
    patterns.split(' ').any(|pattern| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    })
}

/// The class that a name gives ([`OpClass::Other`] for those in no row), and whether it is one of the x87.
pub(super) fn of(mnemonic: Mnemonic) -> (OpClass, bool) {
    let entry = ENTRIES[mnemonic as usize];
    (entry.class, entry.is_x87)
}

/// Whether it gives zero if its operands are the same.
pub(super) fn can_zero(mnemonic: Mnemonic) -> bool {
    ENTRIES[mnemonic as usize].can_zero
}

/// Whether it copies one element to all others.
pub(super) fn is_broadcast(mnemonic: Mnemonic) -> bool {
    ENTRIES[mnemonic as usize].is_broadcast
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_stands_for_an_instruction() {
        let names: Vec<_> = Mnemonic::values().map(|one| format!("{one:?}").to_lowercase()).collect();
        let rows = GENERAL.iter().chain(X87).chain(VECTOR).map(|(_, patterns)| *patterns);
        for pattern in rows.chain([ZEROING]).flat_map(|patterns| patterns.split(' ')) {
            let is_there = names
                .iter()
                .any(|name| fits(pattern, name) || fits(pattern, name.strip_prefix('v').unwrap_or(name)));
            assert!(is_there, "{pattern}");
        }
    }

    #[test]
    fn names_with_a_common_beginning_are_told_apart() {
        let classes = [
            (Mnemonic::Add, Integer),
            (Mnemonic::Addsd, FloatAdd),
            (Mnemonic::Vshufps, Shuffle),
            (Mnemonic::Vshuff32x4, WideShuffle),
            (Mnemonic::Pslldq, Shuffle),
            (Mnemonic::Vpsllq, VectorShift),
            (Mnemonic::Shld, Shift),
            (Mnemonic::Popcnt, Bits),
            (Mnemonic::Vpopcntd, Vector),
            (Mnemonic::Fsubrp, FloatAdd),
            (Mnemonic::Vfmsub213sd, FloatMultiplyAdd),
            (Mnemonic::Pmovmskb, ToGeneral),
            (Mnemonic::Vpmovzxbd, Shuffle),
            (Mnemonic::Vpmovdb, WideShuffle),
            (Mnemonic::Vptest, ToGeneral),
            (Mnemonic::Vptestnmb, Vector),
            (Mnemonic::Verr, OpClass::Other),
            (Mnemonic::Vmread, OpClass::Other),
            (Mnemonic::Fxsave, OpClass::Other),
            (Mnemonic::INVALID, OpClass::Other),
        ];
        for (mnemonic, class) in classes {
            assert_eq!(of(mnemonic).0, class, "{mnemonic:?}");
        }
    }
}
