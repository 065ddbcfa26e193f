/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memory.pml - shared memory as other CPUs see it, for the models beside this file. Two
 * machines, the same words for both:
 *
 *   WEAK (default)  like arm64 and like C11: a location is the list of values that were ever
 *                   stored to it. A load may take any of them that is not older than what its CPU
 *                   already knows of that location (its view). A release store carries the view of
 *                   the CPU that made it, an acquire load that finds it takes the view over; a
 *                   write fence makes later stores carry what was known at the fence, a read
 *                   fence takes over the views of all loads before it; full fences know of each
 *                   other, all of them. Stores and loads to different places are otherwise not
 *                   ordered. Not in it: stores that overtake older loads, which a dependency
 *                   or an acquire excludes everywhere in our code. A write fence also covers
 *                   the loads before it, which arm64's dmb ishst does not promise; no property
 *                   here rests on that.
 *   TSO             like x86: each CPU has a queue of stores on their way to memory. Only a
 *                   full fence waits for it.
 *
 * A model defines CPUS, LOCS, DEPTH (stores to one location, TSO: queue length), then includes
 * this. cpu and location are constants; `dst` is a variable. OWN() is what the CPU itself
 * stored last: only for locations that no other CPU writes.
 */
#define AT(cpu, loc) ((cpu) * LOCS + (loc))

#ifdef TSO

byte memory[LOCS];
byte queue_loc[CPUS * DEPTH];
byte queue_val[CPUS * DEPTH];
byte queued[CPUS];
byte own[CPUS * LOCS];	/* newest value as the CPU itself sees it */
byte under_way[CPUS * LOCS]; /* stores of it in the queue */
byte older[CPUS];	       /* stores in the queue that are older than REMEMBER_TIME() */

inline STORE(cpu, loc, v)
{
	d_step {
		queued[cpu] < DEPTH;
		queue_loc[(cpu) * DEPTH + queued[cpu]] = loc;
		queue_val[(cpu) * DEPTH + queued[cpu]] = v;
		queued[cpu]++;
		own[AT(cpu, loc)] = v;
		under_way[AT(cpu, loc)]++;
	}
}
#define STORE_RELEASE(cpu, loc, v) STORE(cpu, loc, v)

inline LOAD(cpu, loc, dst)
{
	dst = (under_way[AT(cpu, loc)] -> own[AT(cpu, loc)] : memory[loc]);
}
#define LOAD_ACQUIRE(cpu, loc, dst) LOAD(cpu, loc, dst)
#define OWN(cpu, loc)		    own[AT(cpu, loc)]
/* A store within atomic must not have to wait: look first. */
#define ROOM(cpu) (queued[cpu] < DEPTH)

#define WMB(cpu) skip
#define RMB(cpu) skip
#define MB(cpu)	 (queued[cpu] == 0)

/* The oldest store of any CPU reaches memory. */
active proctype memory_system()
{
	byte i;
end:
	do
	:: atomic {
		queued[0] > 0 ->
		d_step {
			memory[queue_loc[0]] = queue_val[0];
			under_way[AT(0, queue_loc[0])]--;
			older[0] = (older[0] -> older[0] - 1 : 0);
			queued[0]--;
			i = 0;
			do
			:: i < queued[0] -> queue_loc[i] = queue_loc[i + 1]; queue_val[i] = queue_val[i + 1]; i++
			:: else -> break
			od;
			queue_loc[i] = 0; queue_val[i] = 0; i = 0
		}
	   }
	:: atomic {
		queued[1] > 0 ->
		d_step {
			memory[queue_loc[DEPTH]] = queue_val[DEPTH];
			under_way[AT(1, queue_loc[DEPTH])]--;
			older[1] = (older[1] -> older[1] - 1 : 0);
			queued[1]--;
			i = 0;
			do
			:: i < queued[1] -> queue_loc[DEPTH + i] = queue_loc[DEPTH + i + 1];
				queue_val[DEPTH + i] = queue_val[DEPTH + i + 1]; i++
			:: else -> break
			od;
			queue_loc[DEPTH + i] = 0; queue_val[DEPTH + i] = 0; i = 0
		}
	   }
	od
}

/* Time passes: what was stored before REMEMBER_TIME() is in memory after TIME_PASSED(). */
#define REMEMBER_TIME() d_step { older[0] = queued[0]; older[1] = queued[1] }
#define TIME_PASSED()	(older[0] == 0 && older[1] == 0)

#else /* WEAK */

byte value[LOCS * DEPTH];
byte newest[LOCS];		 /* number of the last store to it; 0 is the zero at the start */
byte carried[LOCS * DEPTH * LOCS]; /* the view that a store carries */
byte view[CPUS * LOCS];		 /* oldest store that a load may still find */
byte heard[CPUS * LOCS];	 /* views of loads, until a read fence */
byte fenced[CPUS * LOCS];	 /* what later stores carry, since the last write fence */
byte everyone[LOCS];		 /* what full fences know */
hidden byte k;

#define MESSAGE(loc, n) ((loc) * DEPTH + (n))
#define RAISE(a, b)	a = ((b) > (a) -> (b) : (a))

/* In one step: append v to loc's stores; it carries the views in `what`. */
#define PUT(cpu, loc, v, what)                                                    \
	assert(newest[loc] + 1 < DEPTH); /* the model's own bound */              \
	newest[loc]++;                                                            \
	value[MESSAGE(loc, newest[loc])] = v;                                     \
	view[AT(cpu, loc)] = newest[loc];                                         \
	k = 0;                                                                    \
	do                                                                        \
	:: k < LOCS ->                                                            \
		carried[MESSAGE(loc, newest[loc]) * LOCS + k] = what[AT(cpu, k)]; \
		k++                                                               \
	:: else -> break                                                          \
	od;                                                                       \
	carried[MESSAGE(loc, newest[loc]) * LOCS + loc] = newest[loc]

/* Any store from what is known to the newest; the views that it carries go into `into`. */
#define GET(cpu, loc, dst, into)                                                             \
	do                                                                                   \
	:: view[AT(cpu, loc)] < newest[loc] -> view[AT(cpu, loc)]++                          \
	:: break                                                                             \
	od;                                                                                  \
	d_step {                                                                             \
		dst = value[MESSAGE(loc, view[AT(cpu, loc)])];                               \
		k = 0;                                                                       \
		do                                                                           \
		:: k < LOCS ->                                                               \
			RAISE(into[AT(cpu, k)],                                              \
			      carried[MESSAGE(loc, view[AT(cpu, loc)]) * LOCS + k]);         \
			k++                                                                  \
		:: else -> break                                                             \
		od;                                                                          \
		k = 0 /* a d_step must not end with a loop */                                \
	}

inline STORE(cpu, loc, v) { d_step { PUT(cpu, loc, v, fenced) } }
inline STORE_RELEASE(cpu, loc, v) { d_step { PUT(cpu, loc, v, view) } }
inline LOAD(cpu, loc, dst) { atomic { GET(cpu, loc, dst, heard) } }
inline LOAD_ACQUIRE(cpu, loc, dst) { atomic { GET(cpu, loc, dst, view) } }
#define OWN(cpu, loc) value[MESSAGE(loc, newest[loc])]
#define ROOM(cpu)     true

inline WMB(cpu)
{
	d_step {
		k = 0;
		do :: k < LOCS -> fenced[AT(cpu, k)] = view[AT(cpu, k)]; k++ :: else -> break od;
		k = 0
	}
}

inline RMB(cpu)
{
	d_step {
		k = 0;
		do :: k < LOCS -> RAISE(view[AT(cpu, k)], heard[AT(cpu, k)]); k++ :: else -> break od;
		k = 0
	}
}

inline MB(cpu)
{
	d_step {
		k = 0;
		do
		:: k < LOCS ->
			RAISE(view[AT(cpu, k)], heard[AT(cpu, k)]);
			RAISE(everyone[k], view[AT(cpu, k)]);
			view[AT(cpu, k)] = everyone[k];
			fenced[AT(cpu, k)] = everyone[k];
			k++
		:: else -> break
		od;
		k = 0
	}
}

/* Time passes: what was stored before REMEMBER_TIME() is known to all after TIME_PASSED(). */
byte newest_then[LOCS];
inline REMEMBER_TIME()
{
	d_step {
		k = 0;
		do :: k < LOCS -> newest_then[k] = newest[k]; k++ :: else -> break od;
		k = 0
	}
}
inline TIME_PASSED()
{
	d_step {
		k = 0;
		do
		:: k < LOCS ->
			RAISE(view[AT(0, k)], newest_then[k]);
			RAISE(view[AT(1, k)], newest_then[k]);
			k++
		:: else -> break
		od;
		k = 0
	}
}
#endif
