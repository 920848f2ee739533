import { rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { STOP_KEY, stopsText } from '../../src/rules/guard/stop-key.ts'
import { eventually } from '../support/eventually.ts'
import { failing, mountRules, type MountedRules } from './rules-directory.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const running: RuledSquall[] = []
const mounts: MountedRules[] = []
const STOP = stopsText([{ by: 'alice', at: '2026-01-01T00:00:00Z' }])

afterEach(async () => {
  for (const each of running.splice(0)) await each.close()
  for (const each of mounts.splice(0)) await each.remove()
})

async function start(...flags: readonly string[]): Promise<RuledSquall> {
  const started = await startSquall({
    rules: failing('broken'),
    flags: ['--header-faults', ...flags],
  })
  running.push(started)
  return started
}

const keyOf = ({ mounted }: RuledSquall): string => join(mounted.directory, STOP_KEY)

/** Writes the key at once, as a mount of a ConfigMap shows it. */
async function stop(pod: RuledSquall): Promise<void> {
  const written = join(pod.mounted.directory, '..stop')
  await writeFile(written, STOP)
  await rename(written, keyOf(pod))
}

async function responses({ text }: RuledSquall, wanted: string): Promise<void> {
  await eventually(async () => {
    const now = await text()
    return now === wanted ? undefined : `answers ${now}`
  })
}

it('a stop key beside the rules outweighs rules and header faults', async () => {
  const pod = await start()
  expect(await pod.text()).toBe('broken')
  await stop(pod)
  await responses(pod, 'fine')
  expect(await pod.text('other', { 'x-squall-abort': '503' })).toBe('fine')
  await pod.mounted.swap(`${failing('broken')}# again\n`)
  const state = (await (await fetch(`${pod.squall.admin}/api/state`)).json()) as object
  expect(state).toMatchObject({
    armed: false,
    reasons: [{ by: 'stopped', reason: 'squall stop by alice at 2026-01-01T00:00:00Z' }],
  })
  expect(await pod.squall.metric('squall_disarmed_reason', { reason: 'stopped' })).toBe(1)
  expect(await pod.text()).toBe('fine')
  await writeFile(keyOf(pod), stopsText([]))
  await responses(pod, 'broken')
})

// A tool that replaced the whole ConfigMap ended a confirmed stop without a word.
it('a stop whose key goes is kept until a key says resume', async () => {
  const pod = await start()
  await stop(pod)
  await responses(pod, 'fine')
  await rm(keyOf(pod))
  await eventually(async () => {
    const state = (await (await fetch(`${pod.squall.admin}/api/state`)).json()) as object
    const reason =
      'squall stop by alice at 2026-01-01T00:00:00Z; the key squall-stop is gone; squall resume -n ends the stop'
    return JSON.stringify(state).includes(reason) ? undefined : JSON.stringify(state)
  })
  await pod.mounted.swap(`${failing('broken')}# by the tool\n`)
  for (let i = 0; i < 20; i++) expect(await pod.text()).toBe('fine')
  expect(pod.squall.logs.some(({ msg }) => msg === 'armed')).toBe(false)
  await writeFile(keyOf(pod), stopsText([]))
  await responses(pod, 'broken')
  await rm(keyOf(pod))
  await responses(pod, 'broken')
})

it('a call that a fault holds continues when the stop key comes', async () => {
  const pod = await start()
  const waiting = pod.text('other', { 'x-squall-delay': '5m' })
  await pod.squall.reaches('squall_active_faults', { rule: 'header-faults' }, 1)
  await stop(pod)
  expect(await waiting).toBe('fine')
})

it('the rules of a directory are read without the stop key, and stopped by it from the start', async () => {
  const mounted = await mountRules(failing('broken'))
  mounts.push(mounted)
  await writeFile(join(mounted.directory, STOP_KEY), STOP)
  const pod = await start('--rules', mounted.directory)
  expect(await pod.text()).toBe('fine')
  expect(pod.squall.logs.some(({ msg }) => msg === 'the rules are invalid')).toBe(false)
  await writeFile(join(mounted.directory, STOP_KEY), stopsText([]))
  await responses(pod, 'broken')
})

it('a stop for certain labels follows the labels of the pod', async () => {
  const labels = await mountRules('app="bank"\n')
  mounts.push(labels)
  const pod = await start('--pod-labels-file', labels.file)
  await writeFile(keyOf(pod), stopsText([{ selector: 'app in (shop,inn)' }]))
  await labels.swap('app="shop"\n')
  await responses(pod, 'fine')
  await labels.swap('app="bank"\n')
  await responses(pod, 'broken')
})

it.each([
  ['is not valid JSON', '<html>'],
  ['is too long', ' '.repeat(300_000)],
])('a stop key that %s stops', async (_, text) => {
  const pod = await start()
  await writeFile(keyOf(pod), text)
  await responses(pod, 'fine')
})

it('a stop key that leads nowhere for a moment keeps what it said', async () => {
  const pod = await start()
  await writeFile(`${keyOf(pod)}.old`, STOP)
  await symlink(`${keyOf(pod)}.old`, keyOf(pod))
  await responses(pod, 'fine')
  const before = pod.squall.logs.length
  await rm(`${keyOf(pod)}.old`)
  await writeFile(`${keyOf(pod)}.old`, STOP)
  for (let i = 0; i < 20; i++) expect(await pod.text()).toBe('fine')
  expect(pod.squall.logs.slice(before).some(({ msg }) => msg === 'armed')).toBe(false)
})
