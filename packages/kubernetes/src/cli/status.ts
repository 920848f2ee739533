import { setTimeout as sleep } from 'node:timers/promises'
import { plain } from '#base'
import type { KubeClient } from '../kube/kube-client.ts'
import { KubeError } from '../kube/kube-error.ts'
import { findArmedProduction } from '../kube/production-namespaces.ts'
import { sidecarOverview } from '../kube/sidecar-overview.ts'
import {
  hasTrouble,
  rowOf,
  type Status,
  statusDocument,
  statusNotes,
  statusText,
} from '../kube/status-text.ts'
import { fitLine, type Line, openTerminal, type Output, textLine } from '#cli'
import type { StatusRequest } from '../commands/status.ts'
import { clusterFlags, withClient } from './cluster-options.ts'
import { inContexts } from './contexts.ts'
import { FAILED, jsonText } from './rollout.ts'

/** Runs `squall status` in each cluster; returns the worst exit code. */
export function statusInContexts(request: StatusRequest): Promise<number> {
  const conflict = request.watch && '--watch'
  return inContexts(request, (each, { out }) => statusCommand(each, out), { conflict })
}

/** Runs `squall status`; returns 1 when a sidecar does not respond, or is armed in production. */
export function statusCommand(
  request: StatusRequest,
  output: Output = process.stdout,
): Promise<number> {
  const { cluster, allNamespaces, json, all } = request
  return withClient(cluster, async (client, signal) => {
    const namespace = allNamespaces ? undefined : (cluster.namespace ?? client.namespace)
    const look = (until: AbortSignal): Promise<Status> =>
      readStatus(client, request, namespace, until)
    try {
      if (request.watch) return await watchStatus({ look, namespace, json, all, output, signal })
      const status = await look(signal)
      output.write(json ? jsonText(statusDocument(status)) : statusText(status, namespace, all))
      return hasTrouble(status) ? FAILED : 0
    } catch (error) {
      if (!signal.aborted) throw error
      return FAILED
    }
  })
}

async function readStatus(
  client: KubeClient,
  { cluster, production: check }: StatusRequest,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<Status> {
  const overview = await sidecarOverview(client, { ...cluster, namespace }, { signal })
  const armed = new Map<string, number>()
  for (const { pod, state } of overview.reports) {
    if (state?.armed !== true || state.dryRun) continue
    armed.set(pod.namespace, (armed.get(pod.namespace) ?? 0) + 1)
  }
  const options = { ...check, prefix: cluster.prefix }
  const { found, trouble } = await findArmedProduction(client, armed, options, { signal })
  const place = clusterFlags(cluster)
  return { ...overview, production: found, productionTrouble: trouble, place }
}

/** Configures the source and the output of a watch. */
interface WatchOptions {
  readonly look: (signal: AbortSignal) => Promise<Status>
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined
  readonly json: boolean
  readonly all: boolean
  readonly output: Output
  readonly signal: AbortSignal
}

interface View {
  show(status: Status): void
  /** Shows that the last request to the cluster failed. */
  fail(message: string): void
  close(): void
}

const EVERY_MS = 1_000
const CTRL_C = '\u0003'

/** Shows the status every second, until Ctrl-C or until the output is closed. */
async function watchStatus(options: WatchOptions): Promise<number> {
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

/** Prints each changed status as one line of JSON. */
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
  let pods: readonly string[] = []
  const print = (lines: readonly string[]): void => {
    const at = new Date().toISOString()
    for (const line of lines) if (!shown.has(line)) output.write(`${at} ${line}\n`)
    shown = new Set(lines)
  }
  return {
    show: (status) => {
      const before = pods
      const rows = status.reports.map(rowOf)
      pods = rows.map(([within, pod]) => `${within}/${pod}`)
      const gone = before.filter((pod) => !pods.includes(pod)).map((pod) => `${pod}: gone`)
      const lines = rows.map(
        ([, , mode, state, rules, digest], i) =>
          `${pods[i]}: ${mode}, ${state}, rules ${rules}, digest ${digest}`,
      )
      if (lines.length === 0) lines.push(statusText(status, namespace, true).trimEnd())
      print([...gone, ...lines, ...statusNotes(status)])
    },
    fail: (message) => print([`${message}; trying again`]),
    close: () => undefined,
  }
}

/** Redraws the table on the alternate screen; its last content is printed at the end. */
function screenView({ output, namespace, all }: WatchOptions, stop: () => void): View {
  let text = ''
  let trouble: string | undefined
  let at = ''
  const draw = (): void => {
    const foot = `${trouble === undefined ? '' : `${trouble}; trying again. `}${at}, refreshed every second; Ctrl-C exits`
    const { width, height } = terminal
    terminal.draw(screenLines(text, foot, width, height))
  }
  const terminal = openTerminal(output, process.stdin, (process.env['NO_COLOR'] ?? '') === '', {
    onKeys: (keys) => {
      if (keys.includes(CTRL_C) || keys.includes('q')) stop()
    },
    onResize: draw,
  })
  return {
    show: (status) => {
      text = statusText(status, namespace, all)
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
    lines.push(textLine(`${all.length - shown.length} more lines; select with -n or -l`, 'warn'))
  }
  return [...lines, [], textLine(foot, 'quiet')].map((line) => fitLine(line, width))
}
