import type { RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { mountRules } from '../../live/rules-directory.ts'
import { call, callMessage, type HttpApp, startUpstream } from '../../support/wire.ts'
import { portOf, startProgram } from '../../support/commands.ts'
import { eventually } from '../../support/eventually.ts'
import { PATIENCE } from '../patience.ts'

/** A part of the story, from and to in seconds since the epoch. */
export interface Chapter {
  readonly from: number
  readonly to: number
}

/** The chapters, in order. */
export type ChapterName = 'quiet' | 'armed' | 'disarmed' | 'broken' | 'well'

/** Two sidecars in front of an upstream that can be broken, and clients that keep calling. */
export interface Story {
  readonly sidecars: readonly StorySidecar[]
  /** Plays all chapters; each lasts so many seconds. */
  play(seconds: Readonly<Record<ChapterName, number>>): Promise<Record<ChapterName, Chapter>>
  close(): Promise<void>
}

/** Where a sidecar is. */
export interface StorySidecar {
  readonly pod: string
  readonly port: number
  readonly admin: string
}

const TOKEN = 'a-token-for-the-story-0'
const BEFORE = 'seed: 7\nrules: []\n'
const RULES = `seed: 7
maxActive: 6
rules:
  - name: slow-search
    match: { tool: search }
    percent: 60
    faults: [delay: { fixed: 300ms, jitter: 100ms }]
  - name: flaky-query
    match: { tool: query }
    percent: 40
    faults: [abort: { toolError: the database is away }]
  - name: echo-unavailable
    match: { tool: echo }
    percent: 20
    faults: [abort: { status: 503 }]
  - name: short-weather
    match: { tool: weather }
    percent: 30
    faults: [truncate: { content: { chars: 3 } }]
  - name: only-watched
    dryRun: true
    match: { tool: billing }
    faults: [abort: { status: 500 }]
  - name: nobody-calls
    match: { tool: archive }
    faults: [abort: { status: 500 }]
  - name: health-down
    match: { http: { path: /health } }
    percent: 50
    faults: [abort: { status: 503 }]
`
const MISTAKEN = RULES.replace('percent: 60', 'percnt: 60')
const TOOLS = ['search', 'query', 'echo', 'weather', 'billing'] as const
const CLIENTS = 4

/** Starts all of it; nothing is injected yet. */
export async function pictureStory(): Promise<Story> {
  const app = await startApp()
  const mounted = await mountRules(BEFORE)
  const env = { SQUALL_ADMIN_TOKEN: TOKEN }
  const programs = ['tools-0', 'tools-1'].map((pod) => {
    const places = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--pod', pod]
    const upstream = ['--upstream', `http://127.0.0.1:${app.http.port}`, '--rules', mounted.file]
    const rest = [
      '--guard-window',
      '5s',
      '--guard-error-rate',
      '30%',
      '--header-faults',
      '--task-window',
      '2s',
    ]
    return { pod, program: startProgram(['run', ...places, ...upstream, ...rest], env) }
  })
  const sidecars = await Promise.all(
    programs.map(async ({ pod, program }) => ({
      pod,
      port: portOf(await program.logged('listening')),
      admin: `127.0.0.1:${portOf(await program.logged('admin listening'))}`,
    })),
  )
  const leaving = new AbortController()
  const clients = sidecars.flatMap((sidecar) =>
    Array.from({ length: CLIENTS }, (_, client) => keepCalling(sidecar, client, leaving.signal)),
  )
  const change = async (what: 'arm' | 'disarm'): Promise<void> => {
    for (const { admin } of sidecars) {
      const headers = { authorization: `Bearer ${TOKEN}` }
      const { status } = await fetch(`http://${admin}/api/${what}`, { method: 'POST', headers })
      if (status !== 200) throw new Error(`${what} was answered with ${status}`)
    }
  }
  const isActive = (rule: string): Promise<void> =>
    eventually(async () => {
      for (const { admin } of sidecars) {
        const { rules } = (await (await fetch(`http://${admin}/api/rules`)).json()) as {
          readonly rules: readonly { readonly name: string }[]
        }
        if (!rules.some(({ name }) => name === rule)) return `${rule} is not active`
      }
      return undefined
    }, PATIENCE)
  const chapter = async (seconds: number): Promise<Chapter> => {
    const from = Date.now() / 1000
    await sleep(seconds * 1000)
    return { from, to: Date.now() / 1000 }
  }
  return {
    sidecars,
    play: async (seconds) => {
      const quiet = await chapter(seconds.quiet)
      await mounted.swap(RULES)
      await isActive('nobody-calls')
      const armed = await chapter(seconds.armed)
      await change('disarm')
      await mounted.swap(MISTAKEN)
      const disarmed = await chapter(seconds.disarmed)
      app.become('broken')
      const broken = await chapter(seconds.broken)
      app.become('well')
      await mounted.swap(RULES)
      const well = await chapter(seconds.well)
      return { quiet, armed, disarmed, broken, well }
    },
    close: async () => {
      leaving.abort()
      await Promise.all(clients)
      await Promise.all(programs.map(({ program }) => program.kill()))
      await mounted.remove()
      await app.http.close()
    },
  }
}

async function keepCalling(sidecar: StorySidecar, client: number, leaving: AbortSignal) {
  for (let i = client; !leaving.aborted; i++) {
    const headers = { 'x-task-id': `${client}-${Math.floor(i / TOOLS.length)}` }
    const place = { port: sidecar.port, host: '127.0.0.1', headers }
    // Errors of the client do not matter here: the pictures show them.
    await call(place, callMessage(i, TOOLS[i % TOOLS.length])).catch(() => undefined)
    if (i % 10 === 0) {
      const health = await fetch(`http://127.0.0.1:${sidecar.port}/health`).catch(() => undefined)
      await health?.arrayBuffer().catch(() => undefined)
    }
    await sleep(25 + ((i * 13) % 40))
  }
}

interface StoryApp {
  readonly http: HttpApp
  become(state: 'well' | 'broken'): void
}

/**
 * Each tool takes its own time; while the upstream is broken every second call fails, in three
 * ways.
 */
async function startApp(): Promise<StoryApp> {
  let state: 'well' | 'broken' = 'well'
  let calls = 0
  const listener: RequestListener = (req, res) => {
    let body = ''
    req.setEncoding('utf8').on('data', (part: string) => (body += part))
    req.on('end', () => {
      if (body === '') {
        res.end('well')
        return
      }
      const { id, params } = JSON.parse(body) as {
        readonly id: number
        readonly params: { readonly name: (typeof TOOLS)[number] }
      }
      const way = state === 'broken' ? ['', 'status', '', 'tool', '', 'cut'][++calls % 6] : ''
      const content = [{ type: 'text', text: `${params.name} says ${id}` }]
      const result = { content, isError: way === 'tool' }
      setTimeout(
        () => {
          if (way === 'cut') {
            res.destroy()
            return
          }
          res.statusCode = way === 'status' ? 500 : 200
          res.setHeader('content-type', 'application/json')
          res.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
        },
        10 + 15 * TOOLS.indexOf(params.name) + ((id * 7) % 20),
      )
    })
  }
  return {
    http: await startUpstream(listener),
    become: (next) => {
      state = next
    },
  }
}
