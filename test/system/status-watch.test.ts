// part: terminal
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { type Program, startProgram, startTerminal } from '../support/commands.ts'
import { PATIENCE } from './patience.ts'
import { startCluster } from '../support/cluster.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

const opened = closers()

test('squall status --watch shows changes as lines or JSON, survives an outage, and ends with Ctrl-C', async () => {
  const shop = opened(await startCluster('shop'))
  const squall = await shop.addPod('shop-1')
  const watch = (...more: readonly string[]): Program => {
    const program = startProgram(['status', '-w', '--kubeconfig', shop.kubeconfig, ...more])
    return opened({ ...program, close: () => program.kill() })
  }
  const [lines, json] = [watch(), watch('--json')]
  const until = (program: Program, pattern: RegExp): Promise<void> =>
    eventually(
      () =>
        pattern.test(program.stdout()) ? undefined : `not ${String(pattern)}: ${program.stdout()}`,
      PATIENCE,
    )
  await Promise.all([
    until(lines, /^\d{4}-\S+Z shop\/shop-1: redirect, armed, rules 0, digest \S+\n/m),
    until(json, /^\{"at":"\d{4}-\S+Z","ok":true,.*"armed":true.*\}\n/m),
  ])
  squall.running.rules!.arming.disarm('operator', 'a pause')
  shop.addPaper('shop-2')
  await Promise.all([
    until(lines, /shop-1: redirect, disarmed, [^]*shop-1: disarmed by operator \(a pause\)\n/),
    until(lines, /Z shop\/shop-2: redirect, starting/),
    until(json, /"ok":true,.*"armed":false.*\}\n/),
  ])
  shop.api.store.delete('/api/v1/namespaces/shop/pods/shop-2')
  await until(lines, /Z shop\/shop-2: gone\n/)
  shop.api.denied.add('list pods')
  await Promise.all([
    until(lines, /Z cannot list pods .*; trying again\n/),
    until(json, /"ok":false,"trouble":"cannot list pods .*\}\n/),
  ])
  for (const program of [lines, json]) {
    program.signal('SIGINT')
    expect(await program.ended).toEqual({ code: 0, signal: null })
    expect(program.stderr()).toBe('')
  }
  const reported = lines.stdout().trimEnd().split('\n')
  // Nothing is said twice.
  expect(new Set(reported.map((line) => line.replace(/^\S+ /, ''))).size).toBe(reported.length)
  for (const line of json.stdout().trimEnd().split('\n')) JSON.parse(line)
})

test('squall status --watch ends with an error where the cluster cannot be asked at all', async () => {
  const shop = opened(await startCluster('shop'))
  shop.api.denied.add('list pods')
  expect(await shop.status('--watch')).toMatchObject({ code: 1, out: '' })
})

test('squall status --watch is a screen that follows the pods and their number, and stays when it ends', async () => {
  const shop = opened(await startCluster('shop'))
  const terminal = opened(await startTerminal(80, 24))
  const squall = await shop.addPod('shop-1')
  await terminal.enter(
    `${process.execPath} ${MAIN} status --watch --all --kubeconfig ${shop.kubeconfig}; echo en"ded" $?`,
  )
  await terminal.shows(/^ NAMESPACE +POD +MODE[^]*shop-1 +redirect +armed[^]*Ctrl-C exits/m)
  expect(await terminal.tell('#{alternate_on} #{cursor_flag}')).toBe('1 0')
  squall.running.rules!.arming.disarm('operator', 'a pause')
  await terminal.shows(/shop-1 +redirect +disarmed[^]*disarmed by operator/)
  for (let i = 2; i < 40; i++) shop.addPaper(`shop-${i}`)
  await terminal.shows(/\d+ more lines; select with -n or -l/)
  await terminal.resize(60, 12)
  await terminal.shows(/more lines[^]*Ctrl-C exits/)
  await terminal.resize(100, 60)
  await terminal.shows(/shop-39 +redirect +starting/)
  await terminal.press('C-c')
  await terminal.shows(/^ended 0$/m)
  await eventually(async () => {
    const state = await terminal.tell('#{alternate_on} #{cursor_flag}')
    return state === '0 1' ? undefined : `the terminal is still ${state}`
  }, PATIENCE)
  // The last output stays on the screen.
  expect(await terminal.screen()).toMatch(/shop\/shop-1: disarmed by operator/)
})
