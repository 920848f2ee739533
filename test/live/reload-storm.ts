import { expect } from 'vitest'
import { spawnSync } from 'node:child_process'
import { readlink, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Pool } from 'undici'
import type { Reload } from '../../src/rules/watch/active-rules.ts'
import { eventually } from '../support/eventually.ts'
import { callMessage, responding, startUpstream } from '../support/wire.ts'
import { type Squall, startSquall } from '../support/commands.ts'
import { failing, mountRules, type MountedRules } from './rules-directory.ts'

const CALLERS = 4
/** The directory, the directory that the link leads to, and the directories above them. */
const MAX_WATCHES = 4

const PATIENCE = 10_000

/** The text of a file, and the rule that is active once it was read. */
interface Version {
  readonly kind: string
  readonly text: string | Uint8Array | undefined
  /** Undefined leaves the rule that was active before. */
  readonly rule: string | undefined
}

const NONE = ''
/** So many of the ways change a file at once. */
const AT_ONCE = 2

function version(n: number): Version {
  const rule = `v${n}`
  const good = failing(rule)
  switch (n % 8) {
    case 1:
      return { kind: 'unknown key', text: good.replace('match', 'macth'), rule: undefined }
    case 2:
      return { kind: 'truncated', text: good.slice(0, good.indexOf('[abort') + 9), rule: undefined }
    case 3:
      return n % 16 === 3
        ? { kind: 'empty', text: '', rule: NONE }
        : { kind: 'missing', text: undefined, rule: NONE }
    case 4:
      return {
        kind: 'not UTF-8',
        text: Buffer.from([0x72, 0xff, n & 0xff, n >> 8]),
        rule: undefined,
      }
    case 5:
      return n % 40 === 5
        ? { kind: 'huge', text: `# ${rule}\n${'x'.repeat(1024 * 1024)}`, rule: undefined }
        : { kind: 'good', text: good, rule }
    default:
      return { kind: 'good', text: good, rule }
  }
}

/**
 * The ways by which files come to change. Each is given a mounted directory whose file is a link or
 * a file. The first two change it at once. With the others there is no file, or an empty one, for a
 * moment.
 */
const WAYS: readonly ((mounted: MountedRules, text: string | Uint8Array) => Promise<void>)[] = [
  (mounted, text) => mounted.swap(text),
  async ({ file }, text) => {
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
  },
  ({ file }, text) => writeFile(file, text),
  async ({ directory, file }, text) => {
    // As vim does: the old file becomes the backup, and a new one takes its name.
    await rename(file, join(directory, 'rules.yaml~'))
    await writeFile(file, text)
    await rm(join(directory, 'rules.yaml~'))
  },
]

/**
 * Swaps in so many versions under load. No call may fail, and the last good one is always active.
 */
export async function reloadStorm(versions: number): Promise<void> {
  const closers: (() => Promise<void>)[] = []
  try {
    await storm(versions, closers)
  } finally {
    for (const close of closers.splice(0).toReversed()) await close()
  }
}

async function storm(versions: number, closers: (() => Promise<void>)[]): Promise<void> {
  const watches = inotifyWatches()
  const app = await startUpstream(responding('fine'))
  closers.push(() => app.close())
  const mounted = await mountRules(failing('v0'))
  closers.push(() => mounted.remove())
  const squall = await startSquall(
    '--upstream',
    `http://127.0.0.1:${app.port}`,
    '--rules',
    mounted.file,
    '--log-level',
    'error',
  )
  closers.push(() => squall.close())
  const load = startLoad(squall)
  closers.push(() => load.close())
  const late: number[] = []
  let rule = 'v0'
  let linked = true
  /** The rule of the version to which the link leads. */
  let kept: string | undefined = rule
  for (let n = 1; n <= versions; n++) {
    const next = version(n)
    const way = n % 5 === 0 ? 0 : n % WAYS.length
    const before = squall.running.rules!.last
    let shown: string | undefined
    if (way === 0 || next.text === undefined) {
      if (!linked) {
        // The version behind the link may be seen for a moment.
        shown = kept
        await link(mounted)
      }
      linked = true
      kept = next.rule
      await mounted.swap(next.text)
    } else {
      if (linked) await unlinked(mounted)
      linked = false
      await WAYS[way]!(mounted, next.text)
    }
    const swappedAt = performance.now()
    // A link that is taken away for a moment is a version of its own, and one that says the same as
    // the next is not reported twice.
    await untilSeen(squall, (last) => isOf(last, next) && (last !== before || next.rule === NONE))
    if (next.kind === 'good') late.push(performance.now() - swappedAt)
    const response = await load.probe()
    // Where the moment without rules was seen, that was the last good version.
    const gone = next.rule === undefined && way >= AT_ONCE && response === 'fine'
    const last = shown !== undefined && response === shown ? shown : rule
    rule = gone ? NONE : (next.rule ?? last)
    expect(response, `version ${n} (${next.kind})`).toBe(rule === NONE ? 'fine' : rule)
  }
  const told = await load.stop()
  late.sort((a, b) => a - b)
  const median = late[late.length >> 1]!
  console.log(
    `${versions} versions, ${told.calls} calls beside them; good ones active after ${median.toFixed(1)} ms (median), ${late[Math.floor(late.length * 0.99)]!.toFixed(1)} ms (p99), ${late.at(-1)!.toFixed(1)} ms (slowest)`,
  )
  expect(told.failed).toEqual([])
  expect(told.calls).toBeGreaterThan(versions)
  expect(await squall.metric('squall_calls_total', { tool: 'plain', outcome: 'ok' })).toBe(
    told.calls,
  )
  expect(inotifyWatches()).toBeLessThanOrEqual(watches + MAX_WATCHES)
  await squall.running.close()
  // The kernel's side of a watch ends some time after it was closed.
  await eventually(() => (inotifyWatches() === watches ? undefined : 'a watch was left behind'))
}

/** Resolves when the version that was seen last is the one that is waited for. */
function untilSeen(squall: Squall, wanted: (last: Reload) => boolean): Promise<void> {
  const rules = squall.running.rules!
  const end = performance.now() + PATIENCE
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const { last } = rules
      if (last !== undefined && wanted(last)) resolve()
      else if (performance.now() < end) setImmediate(look)
      else reject(new Error(`the last version seen is ${last?.version.kind}`))
    }
    look()
  })
}

function isOf({ version: seen }: Reload, { rule, text }: Version): boolean {
  if (rule === undefined) return seen.kind === 'rejected'
  if (rule === NONE) return seen.kind === 'absent'
  return seen.kind === 'rules' && String(text).includes(seen.file.rules[0]!.name)
}

async function link({ file }: MountedRules): Promise<void> {
  await symlink('..data/rules.yaml', `${file}.link`)
  await rename(`${file}.link`, file)
}

/** Puts a file in the place of the link. */
async function unlinked({ file, directory }: MountedRules): Promise<void> {
  const { status } = spawnSync('cp', ['-L', file, `${file}.copy`])
  // Where the link hangs there is nothing to copy.
  if (status !== 0) await writeFile(`${file}.copy`, '')
  await readlink(join(directory, '..data'))
  await rename(`${file}.copy`, file)
}

function inotifyWatches(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'FSEventWrap').length
}

/** Endless calls that no rule matches, and a request for the rules' names. */
function startLoad(squall: Squall) {
  const pool = new Pool(`http://127.0.0.1:${squall.port}`, { connections: CALLERS + 1 })
  const failed: string[] = []
  let calls = 0
  const stopping = new AbortController()

  async function ask(id: number, tool: string): Promise<string> {
    const { statusCode, body } = await pool.request({
      path: '/mcp',
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(callMessage(id, tool)),
    })
    const text = await body.text()
    if (statusCode !== 200) return `${statusCode} ${text}`
    const { id: responded, result } = JSON.parse(text) as {
      id: number
      result: { content: [{ text: string }] }
    }
    return responded === id ? result.content[0].text : `the response of ${responded}`
  }

  async function caller(): Promise<void> {
    while (!stopping.signal.aborted) {
      const id = ++calls
      const text = await ask(id, 'plain').catch((error: unknown) => String(error))
      if (text !== 'fine') failed.push(text)
    }
  }

  const callers = Array.from({ length: CALLERS }, caller)
  return {
    close: async () => {
      stopping.abort()
      await pool.destroy()
    },
    probe: () => ask(0, 'probe'),
    stop: async () => {
      stopping.abort()
      await Promise.all(callers)
      return { calls, failed }
    },
  }
}
