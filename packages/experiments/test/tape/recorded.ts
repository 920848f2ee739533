import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assemble, namedOptions, SILENT } from '#sidecar'
import { startSquall } from '../../../../test/support/commands.ts'
import { Player, type PlayOptions, type PlayedCall } from '../../src/tape/player.ts'
import { openTape } from '../../src/tape/tape.ts'
import { TapeUpstream } from '../../src/tape/tape-upstream.ts'

/** A line of a tape, with any of its members. */
export interface AnyLine {
  readonly at: number
  readonly exchange: number
  readonly from: 'client' | 'server'
  readonly session?: string
  readonly via?: string
  readonly id?: string | number
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: unknown
  readonly [key: string]: unknown
}

/** Returns a path for a new tape. */
export async function newPath(name = 'a.tape'): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), 'squall-tape-')), name)
}

/** Records what happens while `play` runs against a sidecar in front of a server. */
export async function record(
  url: string,
  play: (url: string) => Promise<unknown>,
  flags: readonly string[] = [],
): Promise<string> {
  const path = await newPath()
  const { origin, pathname } = new URL(url)
  const squall = await startSquall('--upstream', origin, '--tape', path, ...flags)
  try {
    await play(`http://127.0.0.1:${squall.port}${pathname}`)
  } finally {
    await squall.close()
  }
  return path
}

/** Writes a tape by hand. */
export async function written(lines: readonly (object | string)[], header = {}): Promise<string> {
  const path = await newPath()
  const first = { tape: 1, squall: '0', recordedAt: '', note: '', secrets: 'redacted', ...header }
  const texts = [first, ...lines].map((line) =>
    typeof line === 'string' ? line : JSON.stringify(line),
  )
  await writeFile(path, `${texts.join('\n')}\n`)
  return path
}

/** Returns the lines of a tape behind the first. */
export async function linesOf(path: string): Promise<readonly AnyLine[]> {
  const [, ...lines] = (await readFile(path, 'utf8')).trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as AnyLine)
}

/** A tape behind a sidecar. */
export interface Served {
  readonly url: string
  readonly calls: readonly PlayedCall[]
  close(): Promise<void>
}

/** Serves a tape behind a sidecar, with flags of `squall run`. */
export async function served(
  path: string,
  options: PlayOptions = {},
  flags: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const tape = await openTape(path)
  const calls: PlayedCall[] = []
  const player = new Player(tape, { ...options, onCall: (call) => calls.push(call) })
  const raw = { listen: '127.0.0.1:0', admin: 'off', ...flags }
  const parsed = namedOptions(raw, {})
  const own = { name: 'tape', upstream: new TapeUpstream(player) }
  const running = await assemble(parsed, SILENT, { own })
  return {
    url: `http://127.0.0.1:${running.listeners[0]!.port}/mcp`,
    calls,
    close: async () => {
      await running.close()
      await tape.close()
      await rm(join(path, '..'), { recursive: true, force: true })
    },
  }
}
