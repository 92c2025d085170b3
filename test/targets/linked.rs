// SPDX-License-Identifier: Apache-2.0
// The Rust side of linked.c: the same commands, with Rust's own containers. With `--cfg jemalloc` its global allocator is a jemalloc whose
// names begin with _rjem_, called as the crates of that name do.
use std::io::{self, BufRead};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread;

#[cfg(jemalloc)]
mod jemalloc {
    use std::alloc::{GlobalAlloc, Layout};
    use std::os::raw::{c_int, c_void};

    extern "C" {
        fn _rjem_malloc(size: usize) -> *mut c_void;
        fn _rjem_calloc(count: usize, size: usize) -> *mut c_void;
        fn _rjem_mallocx(size: usize, flags: c_int) -> *mut c_void;
        fn _rjem_rallocx(block: *mut c_void, size: usize, flags: c_int) -> *mut c_void;
        fn _rjem_sdallocx(block: *mut c_void, size: usize, flags: c_int);
    }

    pub struct Jemalloc;

    fn flags(layout: &Layout) -> c_int {
        if layout.align() <= 16 { 0 } else { layout.align().trailing_zeros() as c_int }
    }

    unsafe impl GlobalAlloc for Jemalloc {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            match flags(&layout) {
                0 => _rjem_malloc(layout.size()) as *mut u8,
                flags => _rjem_mallocx(layout.size(), flags) as *mut u8,
            }
        }
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            _rjem_calloc(1, layout.size()) as *mut u8
        }
        unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            _rjem_rallocx(block as *mut c_void, size, flags(&layout)) as *mut u8
        }
        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            _rjem_sdallocx(block as *mut c_void, layout.size(), flags(&layout))
        }
    }
}

#[cfg(jemalloc)]
#[global_allocator]
static GLOBAL: jemalloc::Jemalloc = jemalloc::Jemalloc;

#[repr(align(256))]
struct Aligned([u8; 512]);

enum Block {
    Bytes(Vec<u8>),
    Boxed(Box<[u64; 100]>),
    Aligned(Box<Aligned>),
}

#[derive(Default)]
struct Kept {
    blocks: Vec<(&'static str, usize, Block)>,
}

// The compiler knows nothing of the value that comes back.
fn opaque<T>(value: T) -> T {
    unsafe {
        let copy = std::ptr::read_volatile(&value);
        std::mem::forget(value);
        copy
    }
}

#[inline(never)]
fn site_vec(size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size);
    bytes.resize(size, size as u8);
    bytes
}

#[inline(never)]
fn site_zeroed(size: usize) -> Vec<u8> {
    vec![0u8; size]
}

#[inline(never)]
fn site_box(value: u64) -> Box<[u64; 100]> {
    Box::new([value; 100])
}

#[inline(never)]
fn site_aligned() -> Box<Aligned> {
    Box::new(Aligned([7; 512]))
}

#[inline(never)]
fn site_grow(mut bytes: Vec<u8>, size: usize) -> Vec<u8> {
    bytes.reserve_exact(size - bytes.len());
    bytes.resize(size, bytes[0]);
    bytes
}

#[inline(never)]
fn site_freed(size: usize) -> Box<[u8]> {
    vec![1u8; size].into_boxed_slice()
}

#[inline(never)]
fn all_sites(kept: &mut Kept, round: usize) {
    let size = 48 + 16 * (round % 50);
    kept.blocks.push(("site_vec", size, Block::Bytes(site_vec(size))));
    kept.blocks.push(("site_zeroed", 3 * size, Block::Bytes(site_zeroed(3 * size))));
    kept.blocks.push(("site_box", 800, Block::Boxed(site_box(round as u64))));
    kept.blocks.push(("site_aligned", 512, Block::Aligned(site_aligned())));
    kept.blocks.push(("site_grow", 100 * size, Block::Bytes(site_grow(site_vec(size), 100 * size))));
    drop(opaque(site_freed(size)));
}

#[inline(never)]
fn middle(kept: &mut Kept, round: usize, depth: usize) -> usize {
    if depth == 0 {
        all_sites(kept, round);
        return 0;
    }
    1 + opaque(middle(kept, round, depth - 1))
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Go(usize),
    Check,
    Free,
}

fn carry_out(kept: &mut Kept, order: Order) {
    match order {
        Order::Go(round) => {
            middle(kept, round, 5);
        }
        Order::Check => {}
        Order::Free => kept.blocks.clear(),
    }
}

#[inline(never)]
fn thread_entry(go: Receiver<Order>, done: Sender<(Vec<(&'static str, usize)>, bool)>) {
    let mut kept = Kept { blocks: Vec::with_capacity(4096) };
    done.send((Vec::new(), true)).unwrap();
    for order in go {
        carry_out(&mut kept, order);
        done.send(account(&kept)).unwrap();
    }
}

fn account(kept: &Kept) -> (Vec<(&'static str, usize)>, bool) {
    let good = kept.blocks.iter().all(|(_, size, block)| match block {
        Block::Bytes(bytes) => bytes.len() == *size && bytes.iter().all(|byte| *byte == bytes[0]),
        Block::Boxed(words) => words.iter().all(|word| *word == words[0]),
        Block::Aligned(bytes) => bytes.0.iter().all(|byte| *byte == 7) && (&bytes.0 as *const u8 as usize) % 256 == 0,
    });
    (kept.blocks.iter().map(|(site, size, _)| (*site, *size)).collect(), good)
}

fn main() {
    let threads: usize = std::env::args().nth(1).map_or(0, |text| text.parse().unwrap());
    let mut kept = Kept { blocks: Vec::with_capacity(4096) };
    let mut workers = Vec::new();
    let mut round = 0;
    println!("ready");
    for line in io::stdin().lock().lines() {
        let line = line.unwrap();
        match &line[..] {
            "begin" => {
                for _ in 0..threads {
                    let (go, go_receiver) = channel();
                    let (done_sender, done) = channel();
                    thread::spawn(move || thread_entry(go_receiver, done_sender));
                    done.recv().unwrap();
                    workers.push((go, done));
                }
                println!("begun");
            }
            "go" | "check" | "free" => {
                let order = match &line[..] {
                    "go" => Order::Go(round),
                    "check" => Order::Check,
                    _ => Order::Free,
                };
                carry_out(&mut kept, order);
                let (mut live, mut good) = account(&kept);
                for (go, done) in &workers {
                    go.send(order).unwrap();
                    let (more, fine) = done.recv().unwrap();
                    live.extend(more);
                    good &= fine;
                }
                round += 1;
                if !good {
                    std::process::abort();
                }
                if order == Order::Check || order == Order::Free {
                    println!("{}", if order == Order::Check { "ok" } else { "freed" });
                    continue;
                }
                for site in ["site_vec", "site_zeroed", "site_box", "site_aligned", "site_grow"] {
                    let sizes: Vec<usize> = live.iter().filter(|(name, _)| *name == site).map(|(_, size)| *size).collect();
                    println!("{} {} {}", site, sizes.len(), sizes.iter().sum::<usize>());
                }
                println!("end");
            }
            _ => std::process::exit(2),
        }
    }
}
