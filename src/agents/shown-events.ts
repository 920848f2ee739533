import type { Decided, Task } from './task.ts'

/** The most decided events of a task that are shown. */
const MAX_OF_TASK = 10
/** The most of all open tasks: 10,000 take 5 MB. */
const MAX_ALL = 10_000

/** Keeps the last decided events of each task, bounded for all open tasks together. */
export class ShownEvents {
  readonly #tasks = new Set<Task>()
  #size = 0

  add(task: Task, decided: Decided): void {
    task.decided.push(decided)
    this.#tasks.add(task)
    this.#size++
    if (task.decided.length > MAX_OF_TASK) this.#drop(task)
    const [first] = this.#tasks
    if (this.#size > MAX_ALL && first !== undefined) this.#drop(first)
  }

  /** Takes the end of a task, which keeps its events. */
  ended(task: Task): void {
    if (this.#tasks.delete(task)) this.#size -= task.decided.length
  }

  #drop(task: Task): void {
    task.decided.shift()
    this.#size--
    if (task.decided.length === 0) this.#tasks.delete(task)
  }
}
