// SPDX-License-Identifier: Apache-2.0
// The protocol of docs/consistency.md: one thread that allocates, frees and reallocates in every order, on a processor that keeps its stores
// back as long as it likes (in order, as x86-64 does), and the tool, which dumps. Checked is that each snapshot is what was live at one instant
// between the dump's begin and end. A thread that hands work to another one does so by a store behind all its others, so
// the two are, to this protocol, one thread whose stores have reached memory.
//
// EVENTS calls, DUMPS dumps. Each of the names in BROKEN (model_check.py) leaves out or turns round one thing that the proof uses; the check
// must then fail.
#ifndef EVENTS
#define EVENTS 3
#endif
#ifndef DUMPS
#define DUMPS 1
#endif
#define LOG 6
#define BUFFER 4

// Places that the thread writes and the tool reads; what is written there goes through the processor's buffer.
mtype = { ENTRY, BLOCK, BORN, PENDING, PENDING_AT, PENDING_NEW, PENDING_NEW_AT, PENDING_COUNT, COMPLETE }
chan buffer = [BUFFER] of { mtype, byte, byte };

byte flag, epoch = 1;
byte entry[2];          // by address: a ref from 1 on; 0 = none
byte block[5], born[5]; // the records, by ref: which block, and its epoch
byte pending, pending_at, pending_new, pending_new_at, pending_count;

typedef logged { byte at, ref, block, born, new_at, new_ref, epoch, generation }
logged journal[LOG];
byte taken, generation = 1;

// What is live after each call, a bit for each block. Block 0 is no block: a record that shows it is garbage.
short live[EVENTS + 1];
byte begun, returned;
bool ready;

inline write(place, index, value)
{
	if
	:: place == ENTRY -> entry[index] = value
	:: place == BLOCK -> block[index] = value
	:: place == BORN -> born[index] = value
	:: place == PENDING -> pending = value
	:: place == PENDING_AT -> pending_at = value
	:: place == PENDING_NEW -> pending_new = value
	:: place == PENDING_NEW_AT -> pending_new_at = value
	:: place == PENDING_COUNT -> pending_count = value
	:: place == COMPLETE -> journal[index].generation = value
	fi
}

active proctype processor()
{
	mtype place;
	byte index, value;

end:	do
	:: d_step { buffer ? place, index, value -> write(place, index, value); place = 0; index = 0; value = 0 }
	od
}

#define STORE(place, index, value) buffer ! place, index, value

// inject/removal.c. `seen` is what the thread has read of the flag.
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
				empty(buffer);
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
				journal[index].new_ref = new_which;
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
		:: used[ret] -> ret++
		:: else -> break
		od;
		used[ret] = true
	}
}

// The memory of a record that is given back may be written for another purpose.
inline give_record(ref)
{
	used[ref] = false;
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

inline begin_call(change)
{
	d_step {
		live[begun + 1] = live[begun] ^ (change);
		begun++
	}
}

#define BIT(number) (1 << (number))

active proctype thread()
{
	byte my_block[5], my_born[5], held[2]; // what it knows of its own records, and the ref at each address
	bool used[5];
	byte a, b, ref, other, number, seen, index, of_generation, count;

	// One block is there from before.
	atomic {
		used[1] = true;
		my_block[1] = 1;
		my_born[1] = 1;
		block[1] = 1;
		born[1] = 1;
		entry[0] = 1;
		held[0] = 1;
		live[0] = BIT(1);
		number = 2;
		ready = true
	}
	do
	:: begun < EVENTS ->
		select(a : 0 .. 1);
		if
		:: !held[a] -> // malloc
			begin_call(BIT(number));
			new_record(ref, number);
			number++;
			STORE(ENTRY, a, ref);
			held[a] = ref;
			returned = begun
		:: held[a] -> // free
			ref = held[a];
			begin_call(BIT(my_block[ref]));
#ifdef LOG_AFTER_CLEAR
			STORE(ENTRY, a, 0);
			note_removal(a, ref, 0, 0);
#else
			note_removal(a, ref, 0, 0);
			STORE(ENTRY, a, 0);
#endif
			held[a] = 0;
			give_record(ref);
			returned = begun
		:: held[a] -> // realloc
			ref = held[a];
			if
			:: b = a
			:: !held[1 - a] -> b = 1 - a
			fi;
			count++;
			STORE(PENDING_COUNT, 0, count);
			STORE(PENDING_AT, 0, a);
			STORE(PENDING_NEW, 0, 0);
#ifdef CLEARED_BEFORE_PENDING
			STORE(ENTRY, a, 0);
			STORE(PENDING, 0, ref);
#else
			STORE(PENDING, 0, ref);
			STORE(ENTRY, a, 0);
#endif
			if
			:: // it fails: no event
				STORE(ENTRY, a, ref);
				note_removal(a, ref, 0, 0);
				STORE(PENDING, 0, 0);
				begin_call(0);
				returned = begun
			:: true ->
				begin_call(BIT(my_block[ref]) | BIT(number));
				new_record(other, number);
				number++;
				STORE(PENDING_NEW_AT, 0, b);
				STORE(PENDING_NEW, 0, other);
				STORE(ENTRY, b, other);
				held[a] = 0;
				held[b] = other;
#ifdef LOG_AFTER_PENDING
				STORE(PENDING, 0, 0);
				note_removal(a, ref, b, other);
#else
				note_removal(a, ref, b, other);
				STORE(PENDING, 0, 0);
#endif
				STORE(PENDING_NEW, 0, 0);
				give_record(ref);
				returned = begun
			fi;
			other = 0
		fi;
		a = 0;
		b = 0;
		ref = 0
	:: else -> break
	od
}

// The part of the copy that the snapshot is made of, and what is added to it in the end.
inline include(i)
{
	image[journal[i].at] = journal[i].ref;
	image_block[journal[i].at] = journal[i].block
}

#define IS_OURS(i) (complete[i] && journal[i].epoch == epoch)
#define SHOWN(at, ref) (ref && image[at] == ref)

active proctype tool()
{
	byte image[2], image_block[2];
	bool complete[LOG];
	byte i, dumps, first, last, ref, count, logged_count, moved_at, moved_ref, moved_block, moved_new, moved_new_at;
	short snapshot;
	bool found;

	ready;
	do
	:: dumps < DUMPS ->
		dumps++;
		first = returned;
#ifdef EPOCH_BEFORE_FLAG
		epoch++;
		flag = 1;
#else
		flag = 1;
		epoch++;
#endif
#ifndef NO_BARRIER
		empty(buffer);
#endif
#ifdef LOG_READ_EARLY
		logged_count = taken;
		for (i : 0 .. LOG - 1) {
			complete[i] = i < logged_count && journal[i].generation == generation
		}
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
		count = pending_count;
		moved_ref = pending;
		moved_at = pending_at;
		moved_new = pending_new;
		moved_new_at = pending_new_at;
		moved_block = block[moved_ref];
		found = moved_ref && pending == moved_ref;
		found = found && born[moved_ref] < epoch;
		found = found && pending_count == count;
		if
		:: found
		:: else -> moved_ref = 0
		fi;
		// The log: how many entries, then which of them are complete
#ifndef LOG_READ_EARLY
		logged_count = taken;
		for (i : 0 .. LOG - 1) {
			complete[i] = i < logged_count && journal[i].generation == generation
		}
#endif
		last = begun;
		// From here on all is the tool's own.
		d_step {
			for (i : 0 .. LOG - 1) {
				if
				:: IS_OURS(i) && !journal[i].new_ref -> include(i)
				:: else
				fi;
#ifndef PENDING_BESIDE_LOG
				if
				:: IS_OURS(i) && journal[i].ref == moved_ref -> moved_ref = 0
				:: else
				fi
#endif
			}
			if
			:: moved_ref && !SHOWN(moved_new_at, moved_new) ->
				image[moved_at] = moved_ref;
				image_block[moved_at] = moved_block
			:: else
			fi;
			i = 0;
			do
			:: i < LOG ->
#ifdef FROM_THE_BEGINNING
#define WHICH i
#else
#define WHICH (LOG - 1 - i)
#endif
				if
#ifdef NO_SUCCESSOR
				:: IS_OURS(WHICH) && journal[WHICH].new_ref -> include(WHICH)
#else
				:: IS_OURS(WHICH) && journal[WHICH].new_ref && !SHOWN(journal[WHICH].new_at, journal[WHICH].new_ref) -> include(WHICH)
#endif
				:: else
				fi;
				i++
			:: else -> break
			od;
			snapshot = 0;
			for (i : 0 .. 1) {
				if
				:: image[i] -> snapshot = snapshot | BIT(image_block[i])
				:: else
				fi
			}
			found = false;
			for (i : first .. last) {
				found = found || live[i] == snapshot
			}
			assert(found);
			image[0] = 0; image[1] = 0; image_block[0] = 0; image_block[1] = 0;
			moved_at = 0; moved_ref = 0; moved_block = 0; moved_new = 0; moved_new_at = 0;
			ref = 0; count = 0; found = false; snapshot = 0; first = 0; last = 0;
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
