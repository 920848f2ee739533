import { CLEAR_LINE, type LineOutput, redraw } from '../../base/text/status-line.ts'
import type { Problem } from '../../admin/api.ts'
import { problemText } from '../../admin/api-client.ts'
import { plain } from '../../base/text/foreign-text.ts'
import type { PodProgress, Progress } from './await-rules.ts'

/** Shows progress: one line that is rewritten on a terminal, else a line for each change. */
export interface ProgressOutput {
  show(progress: Progress): void
  end(): void
}

export function progressOutput(stream: LineOutput): ProgressOutput {
  if (stream.isTTY !== true) return onPlain(stream)
  return {
    show: (progress) => {
      const all = [...progress]
      const done = all.filter(([, { state }]) => state !== 'waiting').length
      const waiting = all.find(([, { state }]) => state === 'waiting')
      const next = waiting ? `; ${waiting[0].pod.name}: ${plain(waiting[1].detail)}` : ''
      redraw(stream, `${done} of ${all.length} pods${next}`)
    },
    end: () => void stream.write(CLEAR_LINE),
  }
}

function onPlain(stream: LineOutput): ProgressOutput {
  const shown = new Map<unknown, string>()
  return {
    show: (progress) => {
      for (const [awaited, { state, detail }] of progress) {
        if (shown.get(awaited) === state) continue
        shown.set(awaited, state)
        stream.write(`${awaited.pod.name}: ${state}, ${plain(detail)}\n`)
      }
    },
    end: () => undefined,
  }
}

export function progressLines(name: string, progress: PodProgress): string {
  const head = `  ${name}: ${progress.state}, ${plain(progress.detail)}\n`
  if (progress.state !== 'rejected') return head
  return `${head}${progress.problems.map((each) => `    ${problemLine(each)}\n`).join('')}`
}

/** Describes an error of a rules file with its line. */
export function problemLine(problem: Problem): string {
  return `${problem.file}:${problem.line}:${problem.column}: ${problemText(problem)}`
}
