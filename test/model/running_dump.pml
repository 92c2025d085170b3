// SPDX-License-Identifier: Apache-2.0
// The protocol of docs/consistency.md: threads that allocate, free and reallocate in every order, each on a processor that keeps its stores
// back as long as it likes (in order, as x86-64 does), and the tool, which dumps. Checked is that each snapshot is what was live at one cut: so many
// calls of each thread, no fewer than had returned when the dump began, no more than had begun when it ended, and none without those of the other
// thread that it goes on from.
//
// A thread hands a block to another one, or gives back an address that the other one then gets, by a store behind all its others.
//
// THREADS threads (1 or 2) of EVENTS calls each, DUMPS dumps, BLOCKS blocks there before. Each of the names in BROKEN (model_check.py) leaves out
// or turns round one thing that the proof uses; the check must then fail.
#ifndef EVENTS
#define EVENTS 3
#endif
#ifndef DUMPS
#define DUMPS 1
#endif
#ifndef THREADS
#define THREADS 1
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif
#define LOG (EVENTS * THREADS) // each call logs one at most
#define BUFFER 4
#define OWN 4 // records that a thread has in the beginning, and refs that name them
#define REFS (THREADS * OWN + 1)

// Places that the threads write and the tool reads; what is written there goes through a processor's buffer. The last two are for the other thread.
mtype = { ENTRY, BLOCK, BORN, PENDING, PENDING_AT, PENDING_NEW, PENDING_NEW_AT, PENDING_COUNT, COMPLETE, HANDED, GIVEN_BACK }
chan buffer[THREADS] = [BUFFER] of { mtype, byte, byte };

byte flag, epoch = 1;
byte entry[2];          // by address: a ref from 1 on; 0 = none
byte block[REFS], born[REFS]; // the records, by ref: which block, and its epoch
byte pending[THREADS], pending_at[THREADS], pending_new[THREADS], pending_new_at[THREADS], pending_count[THREADS];

typedef logged { byte at, ref, block, born, new_at, new_ref, epoch, generation }
logged journal[LOG];
byte taken, generation = 1;

// What the threads know. A record that is live is as it was written for whoever has it.
byte my_block[REFS], my_born[REFS];
byte held[2];           // by address: the ref of the block that its thread may do something with; 0 = none
byte owner[2];          // whose it is
bool used[REFS];
byte pool[REFS];        // whose a free record is
byte usable[2];         // an address without a block: 1 = the thread that gave it back may get it again, 2 = every thread; 0 = it has a block
byte giver[2];          // that thread
byte blocks = BLOCKS + 1; // the number of the next one. 0 is no block: a record that shows it is garbage
byte since[2];          // calls of the giver, or of who hands a block over, before that
#define EVENT(who, number) ((who) * (EVENTS + 1) + (number))
short live[THREADS * (EVENTS + 1)]; // a bit for each block that has come or gone by so many calls of a thread
byte needs[THREADS * (EVENTS + 1)]; // how many calls of the other thread those go on from
byte begun[THREADS], returned[THREADS];
bool ready;

inline write(place, index, value)
{
	if
	:: place == ENTRY -> entry[index] = value
	:: place == BLOCK -> block[index] = value
	:: place == BORN -> born[index] = value
	:: place == PENDING -> pending[index] = value
	:: place == PENDING_AT -> pending_at[index] = value
	:: place == PENDING_NEW -> pending_new[index] = value
	:: place == PENDING_NEW_AT -> pending_new_at[index] = value
	:: place == PENDING_COUNT -> pending_count[index] = value
	:: place == COMPLETE -> journal[index].generation = value
	:: place == HANDED -> owner[index] = value
	:: place == GIVEN_BACK && usable[index] == 1 && giver[index] == value -> usable[index] = 2
	:: place == GIVEN_BACK && !(usable[index] == 1 && giver[index] == value)
	fi
}

active [THREADS] proctype processor()
{
	mtype place;
	byte index, value;

end:	do
	:: d_step { buffer[_pid] ? place, index, value -> write(place, index, value); place = 0; index = 0; value = 0 }
	od
}

#define STORE(place, index, value) buffer[me] ! place, index, value

// inject/table/removal.c. `seen` is what the thread has read of the flag.
inline note_removal(where, which, new_where, new_which)
{
	seen = flag;
	if
	:: seen ->
		seen = epoch;
		if
		:: my_born[which] < seen ->
			// A locked instruction waits until the buffer is empty.
			atomic {
				empty(buffer[me]);
				assert(taken < LOG);
				index = taken;
				of_generation = generation;
				taken++;
			}
			// The other fields are written before `generation`, and nobody looks at them earlier.
			d_step {
				journal[index].at = where;
				journal[index].ref = which;
				journal[index].block = my_block[which];
				journal[index].born = my_born[which];
				journal[index].new_at = new_where;
#ifdef NEW_SUCCESSOR
				journal[index].new_ref = new_which;
#else
				journal[index].new_ref = (new_which && my_born[new_which] >= seen -> 0 : new_which);
#endif
				journal[index].epoch = seen;
			}
			STORE(COMPLETE, index, of_generation);
			index = 0;
			of_generation = 0
		:: else
		fi
	:: else
	fi;
	seen = 0
}

// A record that nobody uses.
inline take_record(ret)
{
	d_step {
		ret = 1;
		do
		:: used[ret] || pool[ret] != me -> ret++
		:: else -> break
		od;
		used[ret] = true
	}
}

// The memory of a record that is given back may be written for another purpose.
inline give_record(ref)
{
	d_step { used[ref] = false; pool[ref] = me }
	if
	:: STORE(BLOCK, ref, 0)
	:: true
	fi
}

inline new_record(ret, number)
{
	take_record(ret);
	STORE(BLOCK, ret, number);
	my_block[ret] = number;
	my_born[ret] = epoch;
	STORE(BORN, ret, my_born[ret])
}

// A call that goes on from what was at an address.
inline begin_call(change, at)
{
	begun[me]++;
	live[EVENT(me, begun[me])] = live[EVENT(me, begun[me] - 1)] ^ (change);
	needs[EVENT(me, begun[me])] = needs[EVENT(me, begun[me] - 1)];
	goes_on_from(at)
}

inline goes_on_from(at)
{
	if
	:: giver[at] != me && since[at] > needs[EVENT(me, begun[me])] -> needs[EVENT(me, begun[me])] = since[at]
	:: else
	fi
}

#define BIT(number) (1 << (number))
#define MINE(at) (held[at] && owner[at] == me)
#define CAN_GET(at) (usable[at] == 2 || (usable[at] == 1 && giver[at] == me))

// The allocator gets an address back.
inline give_back(at)
{
	held[at] = 0;
	usable[at] = 1;
	giver[at] = me;
	since[at] = returned[me] // not yet the reallocation that moves a block away
}

active [THREADS] proctype thread()
{
	byte a, b, ref, other, number, seen, index, of_generation, count, me;

	// Some blocks are there from before.
	atomic {
		me = _pid - THREADS;
		if
		:: me == 0 ->
			for (a : 1 .. REFS - 1) {
				pool[a] = (a - 1) / OWN
			}
			usable[1] = 2;
			for (a : 0 .. BLOCKS - 1) {
				ref = (a == 1 && THREADS == 2 -> OWN + 1 : a + 1);
				used[ref] = true;
				my_block[ref] = a + 1;
				my_born[ref] = 1;
				block[ref] = a + 1;
				born[ref] = 1;
				entry[a] = ref;
				held[a] = ref;
				owner[a] = (THREADS == 2 -> a : 0);
				giver[a] = owner[a];
				usable[a] = 0;
				live[0] = live[0] | BIT(a + 1)
			}
			ready = true
		:: else -> ready
		fi;
		a = 0;
		ref = 0
	}
	do
	:: begun[me] < EVENTS ->
		select(a : 0 .. 1);
		if
		:: atomic { CAN_GET(a) -> usable[a] = 0 } -> // malloc
			atomic {
				number = blocks;
				blocks++;
				begin_call(BIT(number), a)
			}
			new_record(ref, number);
			STORE(ENTRY, a, ref);
			returned[me] = begun[me];
			d_step { held[a] = ref; owner[a] = me }
		:: MINE(a) -> // free
			ref = held[a];
			atomic { begin_call(BIT(my_block[ref]), a) };
#ifdef LOG_AFTER_CLEAR
			STORE(ENTRY, a, 0);
			note_removal(a, ref, 0, 0);
#else
			note_removal(a, ref, 0, 0);
			STORE(ENTRY, a, 0);
#endif
			give_record(ref);
			returned[me] = begun[me];
			d_step { give_back(a) };
			STORE(GIVEN_BACK, a, me)
		:: MINE(a) -> // realloc
			ref = held[a];
			count++;
			STORE(PENDING_COUNT, me, count);
			STORE(PENDING_AT, me, a);
			STORE(PENDING_NEW, me, 0);
#ifdef CLEARED_BEFORE_PENDING
			STORE(ENTRY, a, 0);
			STORE(PENDING, me, ref);
#else
			STORE(PENDING, me, ref);
			STORE(ENTRY, a, 0);
#endif
			if
			:: // it fails: no event
				STORE(ENTRY, a, ref);
				note_removal(a, ref, 0, 0);
				STORE(PENDING, me, 0);
				atomic { begin_call(0, a) };
				returned[me] = begun[me]
			:: atomic {
				if
				:: b = a
				:: CAN_GET(1 - a) -> b = 1 - a; usable[b] = 0
				fi;
				number = blocks;
				blocks++;
				begin_call(BIT(my_block[ref]) | BIT(number), a);
				goes_on_from(b);
				if
				:: a != b -> give_back(a)
				:: else
				fi
				};
				if
				:: a != b -> STORE(GIVEN_BACK, a, me)
				:: else
				fi;
				new_record(other, number);
				STORE(PENDING_NEW_AT, me, b);
				STORE(PENDING_NEW, me, other);
				STORE(ENTRY, b, other);
#ifdef LOG_AFTER_PENDING
				STORE(PENDING, me, 0);
				note_removal(a, ref, b, other);
#else
				note_removal(a, ref, b, other);
				STORE(PENDING, me, 0);
#endif
				STORE(PENDING_NEW, me, 0);
				give_record(ref);
				returned[me] = begun[me];
				d_step { held[b] = other; owner[b] = me }
			fi;
			other = 0
#if THREADS == 2
		:: !MINE(a) && !CAN_GET(a) -> skip
		:: MINE(a) -> // The other one goes on with it.
			d_step { giver[a] = me; since[a] = returned[me]; owner[a] = 2 };
			STORE(HANDED, a, 1 - me)
#endif
		fi;
		d_step { a = 0; b = 0; ref = 0; number = 0 }
	:: else -> break
	od
}

// The copy. Where an address has another block already, one is beside it.
inline include(which_at, which_ref, which_block)
{
	if
	:: !image[which_at] || image[which_at] == which_ref ->
		image[which_at] = which_ref;
		image_block[which_at] = which_block
	:: else ->
#ifndef NOTHING_BESIDE
		beside = beside | BIT(which_ref);
		snapshot = snapshot | BIT(which_block);
#endif
		skip
	fi
}

inline read_log()
{
	logged_count = taken;
	for (i : 0 .. LOG - 1) {
		complete[i] = i < logged_count && journal[i].generation == generation
	}
}

#define IS_OURS(i) (complete[i] && journal[i].epoch == epoch)
#define SHOWN(at, ref) (ref && (image[at] == ref || beside & BIT(ref)))

inline include_pending()
{
	for (k : 0 .. THREADS - 1) {
		if
		:: moved_ref[k] && !SHOWN(moved_new_at[k], moved_new[k]) -> include(moved_at[k], moved_ref[k], moved_block[k])
		:: else
		fi
	}
}

active proctype tool()
{
	byte image[2], image_block[2];
	bool complete[LOG];
	byte i, k, dumps, first[THREADS], last[THREADS], ref, count, logged_count;
	byte moved_at[THREADS], moved_ref[THREADS], moved_block[THREADS], moved_new[THREADS], moved_new_at[THREADS];
	short snapshot, beside;
	bool found;

	ready;
	do
	:: dumps < DUMPS ->
		d_step {
			dumps++;
			for (i : 0 .. THREADS - 1) {
				first[i] = returned[i]
			}
			i = 0
		}
#ifdef EPOCH_BEFORE_FLAG
		epoch++;
		flag = 1;
#else
		flag = 1;
		epoch++;
#endif
#ifndef NO_BARRIER
		empty(buffer[0]);
#if THREADS == 2
		empty(buffer[1]);
#endif
#endif
#ifdef LOG_READ_EARLY
		read_log();
#endif
		// The tables
		image[0] = entry[0];
		image[1] = entry[1];
		for (i : 0 .. 1) {
			ref = image[i];
			if
			:: ref ->
				image_block[i] = block[ref];
#ifdef EPOCH_BEFORE_ENTRY
				found = born[ref] < epoch;
				found = found && entry[i] == ref;
#else
#ifdef NO_SECOND_LOOK
				found = true;
#else
				found = entry[i] == ref;
#endif
				found = found && born[ref] < epoch;
#endif
				if
				:: found
				:: else -> image[i] = 0; image_block[i] = 0
				fi
			:: else
			fi
		}
		// What is being reallocated
		for (i : 0 .. THREADS - 1) {
			count = pending_count[i];
			moved_ref[i] = pending[i];
			if
			:: moved_ref[i] ->
				moved_at[i] = pending_at[i];
				moved_new[i] = pending_new[i];
				moved_new_at[i] = pending_new_at[i];
				moved_block[i] = block[moved_ref[i]];
				found = pending[i] == moved_ref[i];
				found = found && born[moved_ref[i]] < epoch;
#ifndef NEW_SUCCESSOR_PENDING
				if
				:: moved_new[i] && born[moved_new[i]] >= epoch -> moved_new[i] = 0
				:: else
				fi;
#endif
				found = found && pending_count[i] == count;
				if
				:: found
				:: else -> moved_ref[i] = 0
				fi
			:: else
			fi
		}
		// The log: how many entries, then which of them are complete
#ifndef LOG_READ_EARLY
		read_log();
#endif
		// From here on all is the tool's own.
		found = false;
		d_step {
			for (i : 0 .. THREADS - 1) {
				last[i] = begun[i]
			}
			for (i : 0 .. LOG - 1) {
				if
				:: IS_OURS(i) && !journal[i].new_ref -> include(journal[i].at, journal[i].ref, journal[i].block)
				:: else
				fi;
#ifndef PENDING_BESIDE_LOG
				for (k : 0 .. THREADS - 1) {
					if
					:: IS_OURS(i) && journal[i].ref == moved_ref[k] -> moved_ref[k] = 0
					:: else
					fi
				}
#endif
			}
#ifndef PENDING_LAST
			include_pending();
#endif
			i = 0;
			do
			:: i < LOG ->
				if
#ifdef NO_SUCCESSOR
				:: IS_OURS(LOG - 1 - i) && journal[LOG - 1 - i].new_ref ->
#else
				:: IS_OURS(LOG - 1 - i) && journal[LOG - 1 - i].new_ref && !SHOWN(journal[LOG - 1 - i].new_at, journal[LOG - 1 - i].new_ref) ->
#endif
					include(journal[LOG - 1 - i].at, journal[LOG - 1 - i].ref, journal[LOG - 1 - i].block)
				:: else
				fi;
				i++
			:: else -> break
			od;
#ifdef PENDING_LAST
			include_pending();
#endif
			for (i : 0 .. 1) {
				if
				:: image[i] -> snapshot = snapshot | BIT(image_block[i])
				:: else
				fi
			}
			found = false;
			for (i : first[0] .. last[0]) {
#if THREADS == 2
				for (k : first[1] .. last[1]) {
					found = found || ((live[EVENT(0, i)] ^ live[EVENT(1, k)]) == snapshot &&
							  needs[EVENT(0, i)] <= k && needs[EVENT(1, k)] <= i)
				}
#else
				found = found || live[i] == snapshot
#endif
			}
			assert(found);
			for (i : 0 .. 1) {
				image[i] = 0; image_block[i] = 0
			}
			for (i : 0 .. THREADS - 1) {
				moved_at[i] = 0; moved_ref[i] = 0; moved_block[i] = 0; moved_new[i] = 0; moved_new_at[i] = 0; first[i] = 0; last[i] = 0
			}
			ref = 0; count = 0; found = false; snapshot = 0; beside = 0; logged_count = 0; k = 0;
			for (i : 0 .. LOG - 1) {
				complete[i] = false
			}
			i = 0
		}
		flag = 0;
		// The log begins anew when nobody writes into it. The real tool looks first, and then changes log_taken if nobody else has.
		d_step {
			found = true;
			for (i : 0 .. LOG - 1) {
				found = found && (i >= taken || journal[i].generation == generation)
			}
			if
			:: found -> taken = 0; generation++
			:: else
			fi;
			found = false;
			i = 0
		}
	:: else -> break
	od
}
