import { afterEach, expect, it } from 'vitest'
import { readFile, writeFile } from 'node:fs/promises'
import { eventually } from '../support/eventually.ts'
import { type RuledSquall, type Squall, startSquall } from '../support/commands.ts'
import { failing, type MountedRules } from './rules-directory.ts'

const running: RuledSquall[] = []

afterEach(async () => {
  for (const each of running.splice(0)) await each.close()
})

async function start(text: string | undefined, flags: readonly string[] = []) {
  const started = await startSquall({ rules: text, flags })
  running.push(started)
  const { mounted, squall } = started
  /**
   * Returns what a call of the tool `probe` meets: the name of a rule, or the text of the server.
   */
  const probe = (): Promise<string> => started.text()
  /** Waits until calls meet this. */
  const meets = (wanted: string): Promise<void> =>
    eventually(async () => {
      const now = await probe()
      return now === wanted ? undefined : `calls meet ${now}, not ${wanted}`
    })
  return { mounted, squall, probe, meets }
}

async function swapped(mounted: MountedRules, squall: Squall, text: string | undefined) {
  const { last } = squall.running.rules!
  await mounted.swap(text)
  await eventually(() =>
    squall.running.rules!.last === last ? 'the new version was not seen' : undefined,
  )
}

it('a rule is active from the first call on', async () => {
  const { probe: ask } = await start(failing('one'))
  expect(await ask()).toBe('one')
})

it('an edit takes effect while traffic passes, and so does the next', async () => {
  const { mounted, meets } = await start(failing('one'))
  for (const rule of ['two', 'three', 'four']) {
    await mounted.swap(failing(rule))
    await meets(rule)
  }
})

it('an invalid version changes nothing, and is reported once with its line and column', async () => {
  const { mounted, squall, probe: ask } = await start(failing('one'))
  await swapped(
    mounted,
    squall,
    'rules:\n  - name: two\n    match: { toool: probe }\n    faults: [reset]\n',
  )
  expect(await ask()).toBe('one')
  const line = await squall.logged('the rules are invalid; the previous version stays active')
  expect(JSON.stringify(line)).toContain('rules.yaml:3:14')
  expect(JSON.stringify(line)).toContain('did you mean')
  expect(await squall.metric('squall_rules_last_reload_success')).toBe(0)
  expect((await squall.readiness()).reason).toContain('listening')
  await swapped(mounted, squall, failing('three'))
  expect(await ask()).toBe('three')
  expect(await squall.metric('squall_rules_last_reload_success')).toBe(1)
  expect(squall.logs.filter(({ msg }) => msg === line['msg'])).toHaveLength(1)
})

it('a file that goes takes its faults along, and brings them back', async () => {
  const { mounted, meets } = await start(failing('one'))
  await mounted.swap(undefined)
  await meets('fine')
  await mounted.swap(failing('one'))
  await meets('one')
})

it('a bad file at the start lets traffic pass, and not in silence', async () => {
  const { mounted, squall, probe: ask, meets } = await start('rules: 7\n')
  expect(await ask()).toBe('fine')
  await squall.logged('the rules are invalid; only temporary faults act')
  await mounted.swap(failing('one'))
  await meets('one')
})

it.each([
  [['--deny-temporary-faults', 'frozen'], 'no faults act'],
  [['--header-faults'], 'only temporary faults and faults of request headers act'],
])('the log of a bad file names the faults that still act with %j', async (flags, text) => {
  const { squall } = await start('rules: 7\n', flags)
  await squall.logged(`the rules are invalid; ${text}`)
})

it('no file at the start is no error, and one that comes later counts', async () => {
  const { mounted, probe: ask, meets } = await start(undefined)
  expect(await ask()).toBe('fine')
  await mounted.swap(failing('late'))
  await meets('late')
})

it('an edit frees what waits for a rule that is gone, and the response is whole', async () => {
  const slow = `rules:\n  - name: slow\n    match: { tool: probe }\n    faults: [delay: { fixed: 1h }]\n`
  const { mounted, squall, probe: ask } = await start(slow)
  const waiting = ask()
  await squall.reaches('squall_active_faults', { rule: 'slow' }, 1)
  await mounted.swap('rules: []\n')
  expect(await waiting).toBe('fine')
  await squall.reaches('squall_active_faults', { rule: 'slow' }, 0)
})

it('a drain frees what waits', async () => {
  const slow = `rules:\n  - name: slow\n    match: { tool: probe }\n    faults: [delay: { fixed: 1h }]\n`
  const { squall, probe: ask } = await start(slow)
  const waiting = ask()
  await squall.reaches('squall_active_faults', { rule: 'slow' }, 1)
  const drained = squall.running.drain()
  expect(await waiting).toBe('fine')
  await drained
})

it('rules with comments and CRLF are taken as they are, and are not written to', async () => {
  const text = `# chaos for the afternoon\r\nrules:\r\n  # only the probe\r\n  - name: crlf # here\r\n    match: { tool: probe }\r\n    faults: [abort: { toolError: "crlf" }]\r\n`
  const { mounted, squall, probe: ask } = await start(text)
  expect(await ask()).toBe('crlf')
  await swapped(mounted, squall, `${text}# more\r\n`)
  expect(await ask()).toBe('crlf')
  expect(await readFile(mounted.file, 'utf8')).toBe(`${text}# more\r\n`)
})

it('a rule that an edit leaves alone keeps its count', async () => {
  const twice = `  - name: twice\n    match: { tool: probe }\n    first: 2\n    faults: [abort: { toolError: twice }]\n`
  const { mounted, squall, probe: ask } = await start(`rules:\n${twice}`)
  expect(await ask()).toBe('twice')
  const other = '  - name: other\n    match: { tool: other }\n    faults: [reset]\n'
  await swapped(
    mounted,
    squall,
    `rules:\n${twice}${other.replace('reset', 'abort: { status: 503 }')}`,
  )
  expect([await ask(), await ask(), await ask()]).toEqual(['twice', 'fine', 'fine'])
})

it('a write in place counts as much as a swap', async () => {
  const { mounted, meets } = await start(failing('one'))
  await writeFile(mounted.file, failing('two'))
  await meets('two')
})

it('a file of a later version changes nothing, and names the version', async () => {
  const { mounted, squall, probe: ask } = await start(`version: 1\n${failing('one')}`)
  await swapped(mounted, squall, `version: 2\n${failing('two')}`)
  expect(await ask()).toBe('one')
  const line = await squall.logged('the rules are invalid; the previous version stays active')
  expect(JSON.stringify(line)).toContain('version: must be 1; got 2')
  await swapped(mounted, squall, failing('three'))
  expect(await ask()).toBe('three')
})
