//! gcc's OpenMP runtime (libgomp), which tells nobody anything: its entry points are interposed.
//!
//! A process can have several copies of it, and LLVM's runtime exports the same names: [`copy`] finds out whose
//! functions a call is meant for. [`stub`] makes the entry points that pass on where they were called from. Then one
//! file for each group of constructs: [`parallel`] regions, which get a function of ours around the compiler's;
//! [`loops`] and [`sections`] and `single`; [`barriers`]; [`tasks`], which get one too; [`critical`] sections and
//! ordered ones; [`locks`].
//!
//! gcc compiles loops with a static schedule into plain code without calls: of these nothing is seen but the barrier
//! that follows. Nor does it tell explicit barriers from implicit ones. Entry points of compilers before gcc 4.9
//! (`GOMP_parallel_start`), tasks that can be detached, `ordered` with dependences, and offloading are left alone; so
//! is what a program linked before gcc 4.4 does with nestable locks, whose layout was another.

mod barriers;
mod copy;
mod critical;
mod locks;
mod loops;
mod parallel;
mod sections;
mod stub;
mod tasks;
