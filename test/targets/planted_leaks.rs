// SPDX-License-Identifier: Apache-2.0
// The Rust side of planted_leaks.cc: programs that grow by 2 MiB a second of the clock.
// usage: planted_leaks_rust one_of_forty | unbounded_cache | growing_vector | nothing
use std::collections::HashMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

const RATE: f64 = (2 << 20) as f64; // bytes a second
const MOST: f64 = (256 << 20) as f64;

// Calls `grow` until that has grown as the clock says. It returns by how many bytes.
fn grow_for_ever(mut grow: impl FnMut() -> usize) -> ! {
    let began = Instant::now();
    let mut grown = 0.0;
    loop {
        while grown < MOST && grown < began.elapsed().as_secs_f64() * RATE {
            grown += grow() as f64;
        }
        sleep(Duration::from_millis(5));
    }
}

#[inline(never)]
fn site<const N: usize>() -> Vec<u8> {
    vec![1; 4000 + 8 * N] // line of the site
}

// What is looked at must have been there.
fn look_at(block: Vec<u8>) {
    unsafe { std::ptr::read_volatile(block.as_ptr()) };
}

fn one_of_forty() -> ! {
    let mut kept: Vec<Vec<u8>> = Vec::with_capacity(1 << 16);
    grow_for_ever(move || {
        look_at(site::<0>());
        look_at(site::<9>());
        look_at(site::<38>());
        kept.push(site::<17>());
        4000 + 8 * 17
    })
}

#[inline(never)]
fn remember(cache: &mut HashMap<u64, String>, key: u64) {
    cache.insert(key, "x".repeat(1000)); // line of the cache
}

fn unbounded_cache() -> ! {
    let mut cache = HashMap::new();
    let mut key = 0;
    grow_for_ever(move || {
        remember(&mut cache, key);
        key += 1;
        1100
    })
}

#[inline(never)]
fn record(history: &mut Vec<u64>, event: u64) {
    history.push(event); // line of the vector
}

// Each second half as large again as before, so that a watch of some seconds sees it replaced several times.
fn growing_vector() -> ! {
    let mut history = Vec::new();
    let began = Instant::now();
    loop {
        let length = (32 << 10) as f64 * (began.elapsed().as_secs_f64() * 0.585).exp2();
        while (history.len() as f64) < length.min((8 << 20) as f64) {
            let event = history.len() as u64;
            record(&mut history, event);
        }
        sleep(Duration::from_millis(5));
    }
}

fn nothing() -> ! {
    let mut ring: Vec<Box<[u8]>> = (0..1000).map(|_| Box::from(&[0u8; 300][..])).collect();
    for i in 0usize.. {
        ring[i % 1000] = vec![1; 300 + i % 7].into_boxed_slice();
        if i % 10 == 0 {
            sleep(Duration::from_millis(1));
        }
    }
    unreachable!()
}

fn main() {
    println!("ready");
    match std::env::args().nth(1).as_deref() {
        Some("one_of_forty") => one_of_forty(),
        Some("unbounded_cache") => unbounded_cache(),
        Some("growing_vector") => growing_vector(),
        Some("nothing") => nothing(),
        _ => std::process::exit(2),
    }
}
