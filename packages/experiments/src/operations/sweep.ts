import { CLEAR_LINE, interruption, plainText, redraw, redraws } from '#base'
import { INTERRUPTED, InterruptedError, print } from '#cli'
import { withJunit, writeAll, writeJunit } from '../cli/junit.ts'
import type { SweepRequest } from '../commands/sweep.ts'
import { progressBar } from '../load/load-progress.ts'
import { sweepSuite, sweepText } from '../sweep/sweep-report.ts'
import { sweep } from '../sweep/sweep.ts'

const BROKEN = 1

/** Runs a sweep with its progress, and writes its results; returns the exit code. */
export function sweepTape(request: SweepRequest): Promise<number> {
  const { results: directory, json, junit, accept } = request
  return withJunit(junit, 'squall sweep', async () => {
    const interrupt = interruption(INTERRUPTED, ['SIGINT', 'SIGTERM', 'SIGHUP'])
    const progress = showCells(json)
    const began = performance.now()
    try {
      const result = await sweep(request, interrupt.signal, progress.show).finally(progress.stop)
      const suite = sweepSuite(result, (performance.now() - began) / 1000, accept)
      const text = json ? `${JSON.stringify(result)}\n` : plainText(sweepText(result, directory))
      await writeAll(
        () => writeJunit(junit, suite),
        () => print(text),
      )
      if (interrupt.signal.aborted) return INTERRUPTED
      return suite.cases.some(({ failure }) => failure !== undefined) ? BROKEN : 0
    } catch (error) {
      if (!interrupt.signal.aborted) throw error
      throw new InterruptedError('interrupted before the sweep had a result', { cause: error })
    } finally {
      interrupt.forget()
    }
  })
}

/** Draws the progress on a terminal, with the time that is left. */
function showCells(isQuiet: boolean) {
  const output = process.stderr
  const isLive = !isQuiet && redraws(output, process.env)
  const began = performance.now()
  let first: number | undefined
  return {
    show: (done: number, all: number): void => {
      first ??= done
      if (!isLive) return
      const each = (performance.now() - began) / Math.max(1, done - first)
      const left = done === first ? '' : `, ${Math.ceil((each * (all - done)) / 1000)} s left`
      const bar = progressBar(done / Math.max(1, all), 20)
      redraw(output, `${bar} ${done} of ${all} cells${left}`, 80)
    },
    stop: (): void => {
      if (isLive && first !== undefined) output.write(CLEAR_LINE)
    },
  }
}
