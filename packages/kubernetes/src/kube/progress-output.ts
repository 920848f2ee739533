import { CLEAR_LINE, type LineOutput, plain, redraw } from '#base'
import { type Problem, problemText } from '#admin-api'
import type { AwaitedPod } from './apply-rules.ts'
import type { PodProgress, Progress } from './await-rules.ts'
import type { InjectedPod } from './injected-pod.ts'

/** More pods than this are summed up, unless `--all` asks for each. */
const MANY = 40

/** Shows progress: one line that is rewritten on a terminal, else a line for each change. */
export function progressOutput(stream: LineOutput, isAll: boolean) {
  if (stream.isTTY !== true) return onPlain(stream, isAll)
  return {
    show: (progress: Progress): void => {
      const waiting = [...progress].find(([, { state }]) => state === 'waiting')
      const next = waiting ? `; ${waiting[0].pod.name}: ${plain(waiting[1].detail)}` : ''
      redraw(stream, `${countText(progress)}${next}`)
    },
    end: () => void stream.write(CLEAR_LINE),
  }
}

function countText(progress: Progress): string {
  const done = [...progress.values()].filter(({ state }) => state !== 'waiting').length
  return `${done} of ${progress.size} pods`
}

function onPlain(stream: LineOutput, isAll: boolean) {
  const shown = new Map<unknown, string>()
  return {
    show: (progress: Progress): void => {
      if (progress.size > MANY && !isAll) {
        const count = countText(progress)
        if (shown.get(MANY) !== count) stream.write(`${count}\n`)
        shown.set(MANY, count)
        return
      }
      for (const [awaited, { state, detail }] of progress) {
        if (shown.get(awaited) === state) continue
        shown.set(awaited, state)
        stream.write(`${awaited.pod.name}: ${state}, ${plain(detail)}\n`)
      }
    },
    end: () => undefined,
  }
}

type PodEntry = readonly [AwaitedPod, PodProgress]

/** Returns the pods that are not done. */
export function openPods(progress: Progress, done: PodProgress['state']): readonly PodEntry[] {
  return [...progress].filter(([, { state }]) => state !== 'gone' && state !== done)
}

/** Lists pods by their names, of many pods the first ones. */
export function podLines(
  pods: readonly PodEntry[],
  isAll: boolean,
  nameOf: (pod: InjectedPod) => string,
): string {
  const shown = isAll ? pods : pods.slice(0, MANY)
  const more = pods.length - shown.length
  const rest = more === 0 ? '' : `  and ${more} more; --all lists them\n`
  return `${shown.map(([{ pod }, each]) => progressLines(nameOf(pod), each)).join('')}${rest}`
}

function progressLines(name: string, progress: PodProgress): string {
  const head = `  ${name}: ${progress.state}, ${plain(progress.detail)}\n`
  if (progress.state !== 'rejected') return head
  return `${head}${progress.problems.map((each) => `    ${problemLine(each)}\n`).join('')}`
}

/** Describes an error of a rules file with its line. */
export function problemLine(problem: Problem): string {
  return `${problem.file}:${problem.line}:${problem.column}: ${problemText(problem)}`
}
