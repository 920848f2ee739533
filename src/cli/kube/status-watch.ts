import { setTimeout as sleep } from 'node:timers/promises'
import { KubeError } from '../../cluster/kube/kube-error.ts'
import { fitLine, type Line, textLine } from '../../lab/top/screen/line.ts'
import { type Input, openTerminal, type Output } from '../../lab/top/terminal.ts'
import { plain } from '../../base/text/foreign-text.ts'
import {
  rowOf,
  type Status,
  statusDocument,
  statusNotes,
  statusText,
} from '../../cluster/kube/status-text.ts'

/** Configures the source and the output of a watch. */
export interface WatchOptions {
  readonly look: (signal: AbortSignal) => Promise<Status>
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined
  readonly json: boolean
  readonly output: Output
  readonly input: Input
  /** Ends the watch. */
  readonly signal: AbortSignal
}

/** Shows one status after the other. */
interface View {
  show(status: Status): void
  /** Says that the cluster could not be asked this time. */
  fail(message: string): void
  close(): void
}

const EVERY_MS = 1_000
const CTRL_C = '\u0003'

/** Shows the status again and again, until Ctrl-C or until nobody reads any more. */
export async function watchStatus(options: WatchOptions): Promise<number> {
  const { look, output } = options
  const ended = new AbortController()
  const stop = (): void => ended.abort()
  const signal = AbortSignal.any([options.signal, ended.signal])
  output.on('error', stop)
  let view: View | undefined
  try {
    while (!signal.aborted) {
      try {
        const status = await look(signal)
        view ??= viewFor(options, stop)
        view.show(status)
      } catch (error) {
        // An error at the first look does not fix itself.
        if (!(error instanceof KubeError) || view === undefined) throw error
        view.fail(plain(error.message))
      }
      await sleep(EVERY_MS, undefined, { signal })
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    view?.close()
  }
  return 0
}

function viewFor(options: WatchOptions, stop: () => void): View {
  const { json, output, namespace } = options
  if (json) return jsonView(output)
  const isScreen = output.isTTY === true && process.env['TERM'] !== 'dumb'
  return isScreen ? screenView(options, stop) : linesView(output, namespace)
}

/** Prints one JSON object a line, when anything has changed. */
function jsonView(output: Output): View {
  let last = ''
  const print = (document: object): void => {
    const text = JSON.stringify(document)
    // A slow reader misses updates: nothing is queued for it.
    if (text === last || output.writableNeedDrain === true) return
    last = text
    output.write(`{"at":"${new Date().toISOString()}",${text.slice(1)}\n`)
  }
  return {
    show: (status) => print(statusDocument(status)),
    fail: (message) => print({ ok: false, trouble: message }),
    close: () => undefined,
  }
}

/** Prints a line for each pod whose state has changed, and for each new note. */
function linesView(output: Output, namespace: string | undefined): View {
  let shown = new Set<string>()
  const print = (lines: readonly string[]): void => {
    const at = new Date().toISOString()
    for (const line of lines) if (!shown.has(line)) output.write(`${at} ${line}\n`)
    shown = new Set(lines)
  }
  return {
    show: (status) => {
      const rows = status.reports.map((report) => {
        const [within = '', pod = '', mode = '', state = '', rules = '', digest = ''] =
          rowOf(report)
        return `${within}/${pod}: ${mode}, ${state}, rules ${rules}, digest ${digest}`
      })
      const lines = rows.length === 0 ? [statusText(status, namespace).trimEnd()] : rows
      print([...lines, ...statusNotes(status)])
    },
    fail: (message) => print([`${message}; trying again`]),
    close: () => undefined,
  }
}

/** Draws the table anew on a screen of its own; what it showed last stays when it ends. */
function screenView({ output, input, namespace }: WatchOptions, stop: () => void): View {
  let text = ''
  let trouble: string | undefined
  let at = ''
  const draw = (): void => {
    const foot = `${trouble === undefined ? '' : `${trouble}; trying again. `}${at}, every second; Ctrl-C ends`
    const { width, height } = terminal
    terminal.draw(screenLines(text, foot, width, height))
  }
  const terminal = openTerminal(output, input, (process.env['NO_COLOR'] ?? '') === '', {
    onKeys: (keys) => {
      if (keys.includes(CTRL_C) || keys.includes('q')) stop()
    },
    onResize: draw,
  })
  return {
    show: (status) => {
      text = statusText(status, namespace)
      trouble = undefined
      at = new Date().toISOString().slice(11, 19)
      draw()
    },
    fail: (message) => {
      trouble = message
      draw()
    },
    close: () => {
      terminal.close()
      output.write(text)
    },
  }
}

function screenLines(text: string, foot: string, width: number, height: number): readonly Line[] {
  const all = text.trimEnd().split('\n')
  const room = Math.max(1, height - 2)
  const shown = all.length <= room ? all : all.slice(0, room - 1)
  const lines = shown.map((line, index) =>
    textLine(line, index === 0 ? 'strong' : line.startsWith('production: ') ? 'bad' : 'plain'),
  )
  if (shown.length < all.length) {
    lines.push(textLine(`${all.length - shown.length} more lines; choose with -n or -l`, 'warn'))
  }
  return [...lines, [], textLine(foot, 'quiet')].map((line) => fitLine(line, width))
}
