/*
 * The commit protocol of a thread: two writers, a client that deletes the thread, and storage.
 *
 * Read in this order: the rules of storage, storage itself, what has to hold, the writers. README.md says what is left out.
 *
 * The rules below are also what test/formal reads from this file, and checks the real engine and the real savers against. So
 * a rule is one line, `#define NAME(parameters) (expression)`, in the operators that Promela shares with JavaScript.
 *
 * `#ifdef MUTANT_…` holds a mistake: with it, spin has to find a run in which something does not hold.
 */

#define NONE 0
#define PAUSED 1
#define FAILED 2
#define DONE 3

/* ------------------------------------------------------------------------------------------------------------------
 * Rules
 * ------------------------------------------------------------------------------------------------------------------ */

/* First done wins; a row that is not done gives way to a done row, or to one of a later revision. No row has revision 0. */
#if defined(MUTANT_LAST_WINS)
#define ROW_REPLACES(status, revision, old_status, old_revision) (status == DONE || revision > old_revision)
#elif defined(MUTANT_NO_REVISION)
#define ROW_REPLACES(status, revision, old_status, old_revision) (old_status != DONE)
#else
#define ROW_REPLACES(status, revision, old_status, old_revision) (old_status != DONE && (status == DONE || revision > old_revision))
#endif

/* A row belongs to the life that its writer has found. */
#ifdef MUTANT_NO_LIFE_OF_ROWS
#define PUT_FITS_LIFE(named, life) (life != 0)
#else
#define PUT_FITS_LIFE(named, life) (life != 0 && named == life)
#endif

/* A commit that names no life begins the thread, whose life is then named by its owner; any other belongs to the life it names. */
#ifdef MUTANT_NO_LIFE_OF_COMMITS
#define COMMIT_FITS_LIFE(named, owner, life, head) (1)
#else
#define COMMIT_FITS_LIFE(named, owner, life, head) ((named == 0 && (head == 0 || life == owner)) || (named != 0 && named == life))
#endif

/* The same checkpoint by the same owner is a commit that is repeated because its answer was lost. */
#if defined(MUTANT_NO_OWNER)
#define COMMIT_REPEATS(id, owner, head, head_owner) (id == head)
#elif defined(MUTANT_NO_REPEAT)
#define COMMIT_REPEATS(id, owner, head, head_owner) (0)
#else
#define COMMIT_REPEATS(id, owner, head, head_owner) (id == head && owner == head_owner)
#endif

/* Compare and set. */
#ifdef MUTANT_NO_COMPARE
#define COMMIT_FITS_HEAD(expected, head) (1)
#else
#define COMMIT_FITS_HEAD(expected, head) (expected == head)
#endif

/* A done row that a commit brings along may not differ from the one that stands: the checkpoint is made of it. */
#ifdef MUTANT_BROUGHT_UNCHECKED
#define BROUGHT_FITS(old_status, is_same) (1)
#else
#define BROUGHT_FITS(old_status, is_same) (old_status != DONE || is_same)
#endif

/* Which tasks an attempt runs, by the rows that it has read: not those that are done, nor those that wait for an answer. */
#define TASK_RUNS(status, answer) (status == NONE || status == FAILED || (status == PAUSED && answer != 0))

/* An answer that was put and does not stand came too late: its attempt ends before anything runs. */
#ifdef MUTANT_ANSWER_UNCHECKED
#define ANSWER_IS_TAKEN(given, stands) (1)
#else
#define ANSWER_IS_TAKEN(given, stands) (given == stands)
#endif

/* ------------------------------------------------------------------------------------------------------------------
 * Sizes
 * ------------------------------------------------------------------------------------------------------------------ */

#ifdef TRACE
/* A recorded run: checkpoints and tasks are numbered as they come. */
#define IDS 32
#define TASKS 4
#define SLOTS 128
#define WRITERS 64
#define SLOT(id, task) ((id) * TASKS + (task))

#else
#ifndef TASKS
#define TASKS 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef FAILURES
#define FAILURES 1
#endif
#ifndef DELETES
#define DELETES 1
#endif
#ifndef LOST
#define LOST 1
#endif
#define WRITERS 2

/*
 * The graph: an input, a superstep of TASKS tasks of which the first asks a question, and a superstep of one task. A task
 * writes 0 or 1. The id of a checkpoint derives from what was written, and from nothing else: so a new life may come to the
 * ids of the one before.
 *
 *   0             nothing
 *   1             the input
 *   1 b b         after the first superstep, in binary: what its tasks wrote
 *   1 b b b       the end
 */
#define INPUT 1
#if TASKS == 2
#define MIDDLE 4
#define END 8
#define IDS 16
#define SLOTS 6
#else
#define MIDDLE 8
#define END 16
#define IDS 32
#define SLOTS 11
#endif
#define WIDTH(id) (id == INPUT -> TASKS : 1)
/* The checkpoint after `id` on the way to `to`. */
#define AFTER(id, to) (id == 0 -> INPUT : (id == INPUT && to >= END -> to / 2 : to))
/* Rows stand beside a checkpoint: TASKS beside the input, one beside each of those after the first superstep. */
#define SLOT(id, task) ((id == INPUT) * (task) + (id >= MIDDLE) * (TASKS + id - MIDDLE))
/* What a task has written, by the id of the checkpoint that its superstep led to. */
#define WRITTEN(id, task) ((id >> (id >= END -> 0 : TASKS - 1 - task)) & 1)
#endif

/* ------------------------------------------------------------------------------------------------------------------
 * What has to hold: each name is true, or spin stops with "assertion violated" and the name
 * ------------------------------------------------------------------------------------------------------------------ */

/* Of each superstep one commit is stored, and one attempt is told that it stands. */
bit one_commit = 1;
/* A task whose row was done when an attempt read the rows does not run in it. */
bit no_done_task_runs = 1;
/* A checkpoint is made of the rows that were done first, one for each task. */
bit no_lost_update = 1;
/* Nothing is stored by an attempt that found, or began, another life of the thread. */
bit no_life_after_deletion = 1;
/* An answer that was taken stands until its task is done, and is the one that the task was done with. */
bit answers_stand = 1;
/* An attempt whose commit is the head is not told that it lost. */
bit repeats_succeed = 1;
/* A row stands beside a checkpoint that is stored. */
bit rows_stand_beside_checkpoints = 1;

#define holds(name, condition) name = (condition); assert(name)

/* What the properties speak of. None of it is known to storage or to a writer. */
byte lives;                     /* how often the thread has begun */
byte found_life[WRITERS];       /* by writer: the life that it has found or begun, counted */
byte first[SLOTS];              /* what the first done row holds, and 1; 0 if there is none */
byte taken[SLOTS];              /* the answer that was taken first */
byte winner[IDS];               /* the writer whose commit ended the superstep that started from this checkpoint, and 1 */

/* ------------------------------------------------------------------------------------------------------------------
 * Storage: each inline is one transaction
 * ------------------------------------------------------------------------------------------------------------------ */

typedef Row {
  byte status;
  byte revision;                /* counts the rows of the task, from 1 */
  byte answer;                  /* the answer that it holds; 0 if there is none */
  byte value                    /* what the task wrote */
};

byte life;                      /* the owner of the commit that began the thread; 0 if it is not there */
byte head;                      /* the current checkpoint */
byte head_owner;                /* who committed it */
bit stored[IDS];                /* the checkpoints */
Row rows[SLOTS];                /* the task rows */

mtype = { STORED, CONFLICT, DELETED };

inline copy_row(to, from) {
  to.status = from.status;
  to.revision = from.revision;
  to.answer = from.answer;
  to.value = from.value
}

inline clear_row(row) {
  row.status = NONE;
  row.revision = 0;
  row.answer = 0;
  row.value = 0
}

/* Stores a row, if it replaces the one that stands; gives the one that stands then. */
inline store_row(slot, row) {
  if
  :: ROW_REPLACES(row.status, row.revision, rows[slot].status, rows[slot].revision) ->
#ifndef MUTANT_ROWS_LOST
    copy_row(rows[slot], row);
#endif
    if
    :: row.status == DONE && first[slot] == 0 -> first[slot] = row.value + 1
    :: else
    fi;
    if
    :: row.answer != 0 && taken[slot] == 0 -> taken[slot] = row.answer
    :: else
    fi;
    holds(answers_stand, row.answer == taken[slot])
  :: else -> copy_row(row, rows[slot])
  fi
}

/* putTasks */
inline put(writer, named, id, task, row) {
  if
  :: PUT_FITS_LIFE(named, life) ->
    holds(no_life_after_deletion, found_life[writer] == lives);
    holds(rows_stand_beside_checkpoints, stored[id]);
    store_row(SLOT(id, task), row);
    reply = STORED
  :: else -> reply = DELETED
  fi
}


/* commit: `brings` says whether the row of the one task comes with it. */
inline commit(writer, owned_by, named, expected, id, brings, row) {
  if
  :: !COMMIT_FITS_LIFE(named, owned_by, life, head) ->
    if
    :: named != 0 -> reply = DELETED
    :: else -> reply = CONFLICT
    fi
  :: else ->
    if
    :: COMMIT_REPEATS(id, owned_by, head, head_owner) -> reply = STORED
    :: else ->
      if
      :: COMMIT_FITS_HEAD(expected, head) &&
        (!brings || BROUGHT_FITS(rows[SLOT(expected, 0)].status, rows[SLOT(expected, 0)].value == row.value)) ->
        move_head(writer, owned_by, named, expected, id, brings, row);
        reply = STORED
      :: else -> reply = CONFLICT
      fi
    fi
  fi;
  holds(repeats_succeed, reply != CONFLICT || head != id || head_owner != owned_by);
  if
  :: reply == STORED -> holds(one_commit, winner[expected] == writer + 1)
  :: else
  fi
}

inline move_head(writer, owned_by, named, expected, id, brings, row) {
  if
  :: life == 0 ->
    /* Only a commit that names no life begins one, and no attempt begins two. */
    holds(no_life_after_deletion, named == 0 && found_life[writer] == 0);
    lives++;
    found_life[writer] = lives;
    life = owned_by
  :: else
  fi;
  holds(no_life_after_deletion, found_life[writer] == lives);
  holds(one_commit, winner[expected] == 0);
  winner[expected] = writer + 1;
  if
  :: brings -> store_row(SLOT(expected, 0), row)
  :: else
  fi;
  check_rows(expected, id);
  stored[id] = 1;
  head = id;
  head_owner = owned_by
}

/* A checkpoint is made of the rows of its superstep. */
inline check_rows(expected, id) {
#ifdef TRACE
  holds(no_lost_update, is_made_of_rows);
#else
  i = 0;
  do
  :: expected != 0 && i < WIDTH(expected) ->
    holds(no_lost_update, rows[SLOT(expected, i)].status == DONE && first[SLOT(expected, i)] == WRITTEN(id, i) + 1);
    i++
  :: else -> break
  od;
  i = 0
#endif
}

/* deleteThread */
inline delete_thread() {
  life = 0;
  head = 0;
  head_owner = 0;
  i = 0;
  do
  :: i < IDS -> stored[i] = 0; winner[i] = 0; i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < SLOTS -> clear_row(rows[i]); first[i] = 0; taken[i] = 0; i++
  :: else -> break
  od;
  i = 0
}

#ifdef TRACE

#include "trace.pml"

#else

/* ------------------------------------------------------------------------------------------------------------------
 * Writers
 * ------------------------------------------------------------------------------------------------------------------ */

byte owner[WRITERS];            /* the token of the attempt; 0 between attempts */
byte known[WRITERS];            /* the life that the attempt names; 0 before the thread has begun */

byte crashes = CRASHES;         /* what may still go wrong */
byte failures = FAILURES;
byte lost = LOST;
byte ended;                     /* writers that have seen the end of the thread */

/* A token that nobody has: random in the engine, here the least that nobody remembers. */
#define IS_USED(token) (token == life || token == head_owner || token == owner[1 - me] || token == known[1 - me])

inline take_token() {
  i = 1;
  do
  :: IS_USED(i) -> i++
  :: else -> break
  od;
  owner[me] = i;
  i = 0
}

/* Ends an attempt: what the process had in memory is gone. Its writer looks at the thread anew. */
inline forget() {
  owner[me] = 0;
  known[me] = 0;
  found_life[me] = 0;
  sent = 0;
  brings = 0;
  is_paused = 0;
  enter(0);
  phase = OPENING
}

/* Goes to a checkpoint, of whose rows nothing is known. */
inline enter(id) {
  at = id;
  i = 0;
  do
  :: i < TASKS -> clear_row(seen[i]); was_done[i] = 0; i++
  :: else -> break
  od;
  i = 0
}

#define ASKS(task) (at == INPUT && task == 0)
#define IS_OPEN(task) (task < WIDTH(at) && TASK_RUNS(seen[task].status, seen[task].answer))
#if TASKS == 2
#define IS_ANY_OPEN (IS_OPEN(0) || IS_OPEN(1))
#define NEXT (at == INPUT -> MIDDLE + 2 * seen[0].value + seen[1].value : 2 * at + seen[0].value)
#else
#define IS_ANY_OPEN (IS_OPEN(0) || IS_OPEN(1) || IS_OPEN(2))
#define NEXT (at == INPUT -> MIDDLE + 4 * seen[0].value + 2 * seen[1].value + seen[2].value : 2 * at + seen[0].value)
#endif
#define IS_WAITING (at == INPUT && seen[0].status == PAUSED && seen[0].answer == 0)
/* A task that is alone in its superstep, and of which there is no row: its row comes with the commit. */
#define IS_ALONE (at >= MIDDLE && seen[0].status == NONE)

/* In durability async, commits follow behind; what tasks have produced waits for them. */
#ifdef ASYNC
#define MAY_RUN (sent == at || IS_ALONE)
#else
#define MAY_RUN (sent == at)
#endif
#ifdef MUTANT_ROWS_AHEAD
#undef MAY_RUN
#define MAY_RUN (1)
#endif

mtype = { OPENING, READING, ANSWERING, RUNNING, OVER };

/* The head: the life that the attempt names from here on, and where it stands. */
inline open_thread() {
  take_token();
  known[me] = life;
  found_life[me] = (life == 0 -> 0 : lives);
  if
  :: head == 0 -> enter(INPUT); phase = RUNNING
  :: else -> enter(head); sent = head; phase = READING
  fi
}

/* The checkpoint with its rows, which may be those of another life by now. */
inline read_rows() {
  if
  :: !stored[at] -> forget()
  :: stored[at] && at >= END -> phase = RUNNING
  :: else ->
    i = 0;
    do
    :: i < WIDTH(at) ->
      was_done[i] = (first[SLOT(at, i)] != 0);
#ifndef MUTANT_ROWS_UNREAD
      copy_row(seen[i], rows[SLOT(at, i)]);
#endif
      i++
    :: else -> break
    od;
    i = 0;
    phase = (IS_WAITING -> ANSWERING : RUNNING)
  fi
}

/* Answers the question: durable before anything runs. Each writer has an answer of its own. */
inline give_answer() {
  row.status = PAUSED;
  row.revision = seen[0].revision + 1;
  row.answer = me + 1;
  put(me, known[me], at, 0, row);
  if
  :: reply == STORED && ANSWER_IS_TAKEN(me + 1, row.answer) ->
    copy_row(seen[0], row);
#ifdef MUTANT_ANSWER_UNCHECKED
    seen[0].status = PAUSED;
    seen[0].answer = me + 1;
#endif
    phase = RUNNING
  :: else -> forget()
  fi;
  clear_row(row)
}

/* What a node comes to. The first asks before it does anything; any may fail. */
inline run_node(task) {
  row.revision = seen[task].revision + 1;
  row.answer = seen[task].answer;
  if
  :: ASKS(task) && row.answer == 0 -> row.status = PAUSED
  :: (!ASKS(task) || row.answer != 0) -> row.status = DONE; row.value = 0
  :: (!ASKS(task) || row.answer != 0) -> row.status = DONE; row.value = 1
  :: failures > 0 -> row.status = FAILED; failures--
  fi
}

/* A task runs, and its row is stored. Running changes nothing that others see, so it is one step with the storing. */
inline run_task(task) {
  holds(no_done_task_runs, !was_done[task]);
  run_node(task);
  if
  :: IS_ALONE && row.status == DONE -> copy_row(seen[task], row); brings = 1
  :: else ->
    came_to = row.status;
    written = row.value;
    put(me, known[me], at, task, row);
    if
    /* A failure ends the attempt, and interrupts the other tasks. */
    :: reply == DELETED || came_to == FAILED -> forget()
    :: else ->
      is_paused = is_paused || came_to == PAUSED;
      copy_row(seen[task], row);
      if
      /* Somebody has answered meanwhile: the next attempt finds it. */
      :: row.status == PAUSED -> seen[task].answer = 0
      :: row.status == FAILED -> seen[task].status = PAUSED; seen[task].answer = 0
      :: else
      fi;
#ifdef MUTANT_NOT_ADOPTED
      seen[task].value = written;
#endif
    fi;
    came_to = 0;
    written = 0
  fi;
  clear_row(row)
}

/* The superstep is over: a pause, or the next checkpoint. */
inline end_superstep() {
  if
  :: is_paused || IS_WAITING -> forget()
  :: else -> next = NEXT; enter(next); next = 0
  fi
}

/* Stores the next commit. Its answer may be lost: then it is repeated, but for one that begins the thread, which nobody may
   begin again that somebody else may have deleted. */
inline commit_next() {
  next = AFTER(sent, at);
  if
  :: brings && next >= END -> row.status = DONE; row.revision = 1; row.value = WRITTEN(next, 0)
  :: else
  fi;
  commit(me, owner[me], known[me], sent, next, row.status == DONE, row);
  if
  :: reply == STORED && lost > 0 ->
    lost--;
#ifndef MUTANT_BEGINNING_REPEATED
    if
    :: sent == 0 -> forget()
    :: else
    fi
#endif
  :: reply == STORED -> sent = next; known[me] = (known[me] == 0 -> owner[me] : known[me])
#ifdef MUTANT_NEVER_LOOKS_AGAIN
  :: reply == CONFLICT -> skip
  :: reply == DELETED -> forget()
#else
  :: reply != STORED -> forget()
#endif
  fi;
  next = 0;
  clear_row(row)
}

active [WRITERS] proctype Writer() {
  byte me = _pid;
  mtype phase = OPENING;
  byte at;                      /* the checkpoint that the superstep starts from */
  byte sent;                    /* the last that this attempt knows to be stored */
  Row seen[TASKS];              /* what it knows of the rows beside it */
  bit was_done[TASKS];          /* for the properties: what was done when it read them */
  bit brings;                   /* whether the row of the lone task comes with the commit */
  bit is_paused;                /* whether a task has asked */
  Row row;
  byte came_to, written, next, i;
  mtype reply;

  do
  :: atomic { phase == OPENING -> open_thread() }
  :: atomic { phase == READING -> read_rows(); reply = 0 }
  :: atomic { phase == ANSWERING -> give_answer(); reply = 0 }
  /* Goes on without an answer, if there is anything else to do. */
  :: atomic { phase == ANSWERING && IS_ANY_OPEN -> phase = RUNNING }
  :: atomic { phase == RUNNING && at < END && MAY_RUN && IS_OPEN(0) -> run_task(0); reply = 0 }
  :: atomic { phase == RUNNING && at < END && MAY_RUN && IS_OPEN(1) -> run_task(1); reply = 0 }
#if TASKS > 2
  :: atomic { phase == RUNNING && at < END && MAY_RUN && IS_OPEN(2) -> run_task(2); reply = 0 }
#endif
  :: atomic { phase == RUNNING && at < END && MAY_RUN && !IS_ANY_OPEN -> end_superstep() }
  :: atomic { phase == RUNNING && sent != at -> commit_next(); reply = 0 }
  :: atomic { phase == RUNNING && at >= END && sent == at -> forget(); phase = OVER; ended++ }
  /* The process dies. */
  :: atomic { phase != OPENING && phase != OVER && crashes > 0 -> crashes--; forget() }
  :: phase == OVER -> break
  od
}

active proctype Client() {
  byte i;
  if
  :: atomic { DELETES > 0 && life != 0 -> delete_thread() }
  :: skip
  fi
}

/* With no more crashes and failures, a run ends. */
ltl progress { <> (ended == WRITERS) }

#endif
