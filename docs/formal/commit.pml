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

/* What would be new beside a checkpoint that is not the head comes too late: what follows from the rows there is stored. */
#ifdef MUTANT_LATE_ROWS
#define PUT_FITS_HEAD(id, head, replaces) (1)
#else
#define PUT_FITS_HEAD(id, head, replaces) (id == head || !replaces)
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

/* As many rows are done beside the expected head as the checkpoint is made of: a Command that came meanwhile is one more. */
#ifdef MUTANT_ROWS_UNCOUNTED
#define COMMIT_FITS_ROWS(done, finished) (1)
#else
#define COMMIT_FITS_ROWS(done, finished) (done == finished)
#endif

/* Which tasks an attempt runs, by the rows that it has read: not those that are done, nor those that wait for an answer. */
#define TASK_RUNS(status, answer) (status == NONE || status == FAILED || (status == PAUSED && answer != 0))

/* An answer or a Command that was put and does not stand came too late: its attempt ends before anything runs. */
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
#define TASKS 4
#define SLOTS 128
#define WRITERS 64
#define SLOT(id, task) ((id) * TASKS + (task))
#define SUPERSTEPS 32
#define SUPERSTEP(id) id
#define ROW_COUNT(id) TASKS

#else
#ifdef COMMAND
/* Two tasks, and the place of a Command from outside. */
#define TASKS 3
#endif
#ifndef TASKS
#define TASKS 2
#endif
/* How much may happen: a process dies, a node fails, the answer of storage is lost, the thread is deleted (once), a Command comes. */
#ifndef FAULTS
#define FAULTS 2
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
#define SLOTS 6
#else
#define MIDDLE 8
#define END 16
#define SLOTS 11
#endif
/* The superstep that starts from a checkpoint, how many rows and tasks it can have, and how many rows led from it to another. */
#define SUPERSTEPS 3
#define SUPERSTEP(id) ((id >= INPUT) + (id >= MIDDLE))
#define ROW_COUNT(id) (id == INPUT -> TASKS : 1)
#ifdef COMMAND
#define WIDTH(id) (id == INPUT -> TASKS - 1 : 1)
#define FINISHED(expected, id) (expected == 0 -> UNCOUNTED : (expected == INPUT -> TASKS - 1 + WRITTEN(id, TASKS - 1) : 1))
#else
#define WIDTH(id) ROW_COUNT(id)
#define FINISHED(expected, id) (expected == 0 -> UNCOUNTED : WIDTH(expected))
#endif
/* The checkpoint after `id` on the way to `to`. */
#define AFTER(id, to) (id == 0 -> INPUT : (id == INPUT && to >= END -> to / 2 : to))
/* Rows stand beside a checkpoint: TASKS beside the input, one beside each of those after the first superstep. */
#define SLOT(id, task) ((id == INPUT) * (task) + (id >= MIDDLE) * (TASKS + id - MIDDLE))
/* What a task has written, by the id of the checkpoint that its superstep led to. */
#define WRITTEN(id, task) ((id >> (id >= END -> 0 : TASKS - 1 - (task))) & 1)
/* A Command writes 1; where there is none, nothing was written. */
#define WRITES(slot, value) (first[slot] == value + 1 || (rows[slot].status == NONE && value == 0))
#endif

/* ------------------------------------------------------------------------------------------------------------------
 * What has to hold: each name is true, or spin stops with "assertion violated" and the name
 * ------------------------------------------------------------------------------------------------------------------ */

/* Of each superstep one commit is stored, and one attempt is told that it stands. */
bit one_commit = 1;
/* A task whose row was done when an attempt read the rows does not run in it. */
bit no_done_task_runs = 1;
/* A checkpoint is made of the rows that were done first, one for each task, and of all that is done beside the one before. */
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
byte winner[SUPERSTEPS];        /* by superstep: the writer whose commit ended it, and 1 */
#ifdef TRACE
bit is_made_of_rows;            /* whether the id of the next commit derives from the rows that stand */
#endif

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
int stored;                     /* the checkpoints, a bit for each */
Row rows[SLOTS];                /* the task rows */

#define IS_STORED(id) ((stored >> id) & 1)

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

#define REPLACES(row, slot) ROW_REPLACES(row.status, row.revision, rows[slot].status, rows[slot].revision)

/* Stores a row, if it replaces the one that stands; gives the one that stands then. */
inline store_row(slot, row) {
  if
  :: REPLACES(row, slot) ->
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
  :: !PUT_FITS_LIFE(named, life) -> reply = DELETED
  :: PUT_FITS_LIFE(named, life) && !PUT_FITS_HEAD(id, head, REPLACES(row, SLOT(id, task))) -> reply = CONFLICT
  :: else ->
    holds(no_life_after_deletion, found_life[writer] == lives);
    holds(rows_stand_beside_checkpoints, IS_STORED(id));
    /* What is done counts: its superstep is not over. */
    holds(no_lost_update, row.status != DONE || first[SLOT(id, task)] != 0 || winner[SUPERSTEP(id)] == 0);
    store_row(SLOT(id, task), row);
    reply = STORED
  fi
}


/* Rows that are done beside a checkpoint, when the commit has brought its own. */
inline count_done(expected, brings) {
  done = (brings && rows[SLOT(expected, 0)].status != DONE);
  i = 0;
  do
  :: i < ROW_COUNT(expected) -> done = done + (rows[SLOT(expected, i)].status == DONE); i++
  :: else -> break
  od;
  i = 0
}

/* What is made of no rows, such as an input, counts none. */
#define UNCOUNTED 255

/* commit: `brings` says whether the row of the one task comes with it, `finished` how many rows it is made of. */
inline commit(writer, owned_by, named, expected, id, finished, brings, row) {
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
      count_done(expected, brings);
      if
      :: COMMIT_FITS_HEAD(expected, head) && (finished == UNCOUNTED || COMMIT_FITS_ROWS(done, finished)) &&
        (!brings || BROUGHT_FITS(rows[SLOT(expected, 0)].status, rows[SLOT(expected, 0)].value == row.value)) ->
        move_head(writer, owned_by, named, expected, id, brings, row);
        reply = STORED
      :: else -> reply = CONFLICT
      fi;
      done = 0
    fi
  fi;
  holds(repeats_succeed, reply != CONFLICT || head != id || head_owner != owned_by);
  if
  :: reply == STORED -> holds(one_commit, winner[SUPERSTEP(expected)] == writer + 1)
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
  holds(one_commit, winner[SUPERSTEP(expected)] == 0);
  winner[SUPERSTEP(expected)] = writer + 1;
  if
  :: brings -> store_row(SLOT(expected, 0), row)
  :: else
  fi;
  check_rows(expected, id);
  stored = stored | (1 << id);
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
  :: expected != 0 && i < ROW_COUNT(expected) ->
    holds(no_lost_update, (rows[SLOT(expected, i)].status == DONE || i >= WIDTH(expected)) && WRITES(SLOT(expected, i), WRITTEN(id, i)));
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
  stored = 0;
  i = 0;
  do
  :: i < SUPERSTEPS -> winner[i] = 0; i++
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

/* ------------------------------------------------------------------------------------------------------------------
 * Recorded runs: what real writers asked a real saver, and what it told them. Each line of trace.pml is one of these.
 * ------------------------------------------------------------------------------------------------------------------ */

#define is(what) assert(what)

/* A writer reads the head. */
inline told_head(writer, its_life, its_id) {
  is(life == its_life && head == its_id);
  found_life[writer] = (life == 0 -> 0 : lives)
}

/* A writer reads a checkpoint, with so many rows. */
inline told_checkpoint(id, its_rows) {
  is(IS_STORED(id));
  i = 0;
  do
  :: i < TASKS -> done = done + (rows[SLOT(id, i)].status != NONE); i++
  :: else -> break
  od;
  is(done == its_rows);
  i = 0;
  done = 0
}

/* A writer finds no such checkpoint. */
inline told_nothing(id) {
  is(!IS_STORED(id))
}

/* A writer reads a row. */
inline told_row(id, task, its_status, its_revision, its_answer, its_value) {
  set_row(its_status, its_revision, its_answer, its_value);
  is_row(rows[SLOT(id, task)])
}

/* A writer runs a task, of which it has read this row. */
inline told_run(its_status, its_answer) {
  holds(no_done_task_runs, TASK_RUNS(its_status, its_answer))
}

/* A writer puts a row, and is told which stands. */
inline told_put(writer, named, id, task, its_reply) {
  put(writer, named, id, task, row);
  is(reply == its_reply)
}

inline told_commit(writer, owned_by, named, expected, id, finished, brings, its_reply) {
  commit(writer, owned_by, named, expected, id, finished, brings, row);
  is(reply == its_reply)
}

inline set_row(its_status, its_revision, its_answer, its_value) {
  row.status = its_status;
  row.revision = its_revision;
  row.answer = its_answer;
  row.value = its_value
}

inline is_row(other) {
  is(row.status == other.status && row.revision == other.revision && row.answer == other.answer && row.value == other.value)
}

active proctype Recorded() {
  Row row;
  mtype reply;
  byte i, done;
#include "trace.pml"
  printf("the end of the trace\n")
}

#else

/* ------------------------------------------------------------------------------------------------------------------
 * Writers
 * ------------------------------------------------------------------------------------------------------------------ */

byte owner[WRITERS];            /* the token of the attempt; 0 between attempts */
byte known[WRITERS];            /* the life that the attempt names; 0 before the thread has begun */

byte faults = FAULTS;           /* what may still go wrong */
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
#if TASKS == 2 || defined(COMMAND)
#define IS_ANY_OPEN (IS_OPEN(0) || IS_OPEN(1))
#else
#define IS_ANY_OPEN (IS_OPEN(0) || IS_OPEN(1) || IS_OPEN(2))
#endif
#if TASKS == 2
#define NEXT (at == INPUT -> MIDDLE + 2 * seen[0].value + seen[1].value : 2 * at + seen[0].value)
#else
#define NEXT (at == INPUT -> MIDDLE + 4 * seen[0].value + 2 * seen[1].value + seen[2].value : 2 * at + seen[0].value)
#endif
#define IS_WAITING (at == INPUT && seen[0].status == PAUSED && seen[0].answer == 0)
/* A task that is alone in its superstep, and of which there is no row: its row comes with the commit. */
#define IS_ALONE (at >= MIDDLE && seen[0].status == NONE)

/* In durability async, commits follow behind; what tasks have produced waits for them. */
#ifdef MUTANT_ROWS_AHEAD
#define MAY_STORE (known[me] != 0)
#else
#define MAY_STORE (sent == at)
#endif
#ifdef ASYNC
#define MAY_RUN (MAY_STORE || IS_ALONE)
#else
#define MAY_RUN MAY_STORE
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
  :: !IS_STORED(at) -> forget()
  :: IS_STORED(at) && at >= END -> phase = RUNNING
  :: else ->
    i = 0;
    do
    :: i < ROW_COUNT(at) ->
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

/* A Command from outside waits beside the checkpoint, as a row that is done, until the superstep ends. */
inline give_command() {
  row.status = DONE;
  row.revision = 1;
  row.answer = me + 1;
  row.value = 1;
  put(me, known[me], at, TASKS - 1, row);
  if
  :: reply == STORED && ANSWER_IS_TAKEN(me + 1, row.answer) -> copy_row(seen[TASKS - 1], row)
  :: else -> forget()
  fi;
  clear_row(row)
}

/* What a node comes to. The first asks, and writes what it is answered; the others write what they please; any may fail. */
inline run_node(task) {
  row.revision = seen[task].revision + 1;
  row.answer = seen[task].answer;
  if
  :: ASKS(task) && row.answer == 0 -> row.status = PAUSED
  :: ASKS(task) && row.answer != 0 -> row.status = DONE; row.value = row.answer - 1
  :: !ASKS(task) -> row.status = DONE; row.value = 0
  :: !ASKS(task) -> row.status = DONE; row.value = 1
  :: faults > 0 && MAY_STORE -> row.status = FAILED; faults--
  fi
}

/* A task runs, and its row is stored. Running changes nothing that others see, so it is one step with the storing. */
inline run_task(task) {
  run_node(task);
  d_step {
  holds(no_done_task_runs, !was_done[task]);
  if
  :: IS_ALONE && row.status == DONE -> copy_row(seen[task], row); brings = 1
  :: else ->
    came_to = row.status;
    written = row.value;
    put(me, known[me], at, task, row);
    if
    /* A failure ends the attempt, and interrupts the other tasks. */
    :: reply != STORED || came_to == FAILED -> forget()
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
  clear_row(row);
  reply = 0
  }
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
  d_step {
    next = AFTER(sent, at);
    if
    :: brings && next >= END -> row.status = DONE; row.revision = 1; row.value = WRITTEN(next, 0)
    :: else
    fi;
    commit(me, owner[me], known[me], sent, next, FINISHED(sent, next), (row.status == DONE), row);
    clear_row(row)
  };
  if
  :: reply == STORED -> d_step { sent = next; known[me] = (known[me] == 0 -> owner[me] : known[me]) }
#ifdef MUTANT_BEGINNING_REPEATED
  :: reply == STORED && faults > 0 -> faults--
#else
  :: reply == STORED && faults > 0 -> d_step { faults--; if :: sent == 0 -> forget() :: else fi }
#endif
#ifdef MUTANT_NEVER_LOOKS_AGAIN
  :: reply == CONFLICT -> skip
  :: reply == DELETED -> d_step { forget() }
#else
  :: reply != STORED -> d_step { forget() }
#endif
  fi;
  next = 0
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
  byte came_to, written, next, done, i;
  mtype reply;

  do
  :: d_step { phase == OPENING -> open_thread() }
  :: d_step { phase == READING -> read_rows(); reply = 0 }
  :: d_step { phase == ANSWERING -> give_answer(); reply = 0 }
  /* Goes on without an answer, if there is anything else to do. */
  :: d_step { phase == ANSWERING && IS_ANY_OPEN -> phase = RUNNING }
  :: atomic { phase == RUNNING && at < END && MAY_RUN && IS_OPEN(0) -> run_task(0) }
  :: atomic { phase == RUNNING && at < END && MAY_RUN && IS_OPEN(1) -> run_task(1) }
#ifdef COMMAND
  :: d_step { phase == RUNNING && at == INPUT && sent == at && seen[TASKS - 1].status == NONE && faults > 0 -> faults--; give_command(); reply = 0 }
#elif TASKS > 2
  :: atomic { phase == RUNNING && at < END && MAY_RUN && IS_OPEN(2) -> run_task(2) }
#endif
  :: d_step { phase == RUNNING && at < END && MAY_RUN && !IS_ANY_OPEN -> end_superstep() }
  :: atomic { phase == RUNNING && sent != at -> commit_next(); reply = 0 }
  :: d_step { phase == RUNNING && at >= END && sent == at -> forget(); phase = OVER; ended++ }
  /* The process dies. */
  :: d_step { phase != OPENING && phase != OVER && faults > 0 -> faults--; forget() }
  :: phase == OVER -> break
  od
}

active proctype Client() {
  byte i;
  if
  :: d_step { faults > 0 && life != 0 -> faults--; delete_thread() }
  :: skip
  fi
}

/* With no more crashes and failures, a run ends. */
ltl progress { <> (ended == WRITERS) }

#endif
