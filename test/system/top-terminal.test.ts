// part: terminal
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type BusySquall, TOKEN } from './busy-squall.ts'
import { PATIENCE } from './patience.ts'
import { startSquall, startTerminal, type Terminal } from '../support/commands.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const PICTURES = fileURLToPath(new URL('../../build/top/', import.meta.url))

let busy: BusySquall
let terminal: Terminal

beforeEach(async () => {
  await mkdir(PICTURES, { recursive: true })
  busy = await startSquall({ scene: 'busy' })
  terminal = await startTerminal(80, 24)
  // The quotes make the typed text differ from the printed text.
  await terminal.enter('echo before-"it"')
  await terminal.shows(/before-it/)
})

afterEach(async () => {
  await terminal?.close()
  await busy?.close()
})

const start = (more = ''): Promise<void> =>
  terminal.enter(
    `${more} SQUALL_ADMIN_TOKEN=${TOKEN} ${process.execPath} ${MAIN} top ${busy.squall.admin}`,
  )

/** The terminal is as it was, with what it showed, its cursor, and keys that are echoed. */
async function isRestored(code: number): Promise<void> {
  // The program would read text that is typed before it has ended.
  await eventually(async () => {
    const command = await terminal.tell('#{pane_current_command}')
    return command === 'sh' ? undefined : `${command} still runs`
  }, PATIENCE)
  await terminal.enter('echo after-"it" $? $(stty -a | grep -c " icanon .* echo ")')
  await terminal.shows(new RegExp(`after-it ${code} 1$`, 'm'))
  const screen = await terminal.screen()
  expect(screen).toMatch(/before-it/)
  expect(screen).not.toContain('LAST FAULTS')
  expect(await terminal.tell('#{alternate_on} #{cursor_flag}')).toBe('0 1')
}

describe('squall top in a real terminal', () => {
  it('is a screen that lives, follows its size and keys, and goes without a trace', async () => {
    busy.startCalls()
    await start()
    await terminal.shows(/1 sidecar, 1 armed/)
    expect(await terminal.tell('#{alternate_on} #{cursor_flag}')).toBe('1 0')
    await terminal.resize(80, 36)
    await terminal.shows(/^ slow-search +delay +on +\d+ +[1-9]/m)
    await terminal.shows(/^ never-called +abort +IDLE +0 +0 +0/m)
    await terminal.shows(/^ query_db +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ m?s +[1-9]\d* +\d+$/m)
    expect(await terminal.coloured()).toContain('\u001b[')
    await terminal.shows(/injected errors\/s +[\d.]+ +[▁▂▃▄▅▆▇█]{4}/)
    await terminal.shows(/q quit {2}s sort/)
    await writeFile(join(PICTURES, '80.txt'), await terminal.screen())

    await terminal.resize(132, 45)
    await terminal.shows(/ACTIVE {2}ENVIRONMENT/)
    await terminal.shows(/ staging$/m)
    await terminal.shows(/onerror="document\.title=1">\ufffde/)
    await writeFile(join(PICTURES, '132.txt'), await terminal.screen())

    await terminal.press('d')
    await terminal.shows(/disarm 127\.0\.0\.1:\d+\? y\/n/)
    expect(busy.squall.running.rules!.arming.armed).toBe(true)
    await terminal.press('y')
    await terminal.shows(/DISARMED[^]*disarmed by operator at/)
    expect(busy.squall.running.rules!.arming.armed).toBe(false)
    await terminal.press('p')
    await terminal.shows(/PAUSED/)
    const held = await sampled()
    const counted = await busy.squall.metric('squall_calls_total')
    await eventually(async () => {
      const total = await busy.squall.metric('squall_calls_total')
      return total > counted + 30 ? undefined : `only ${total} calls`
    }, PATIENCE)
    expect(await terminal.screen()).toBe(held)
    await terminal.press('?')
    await terminal.shows(/≠ +the sidecars have different rules/)
    await terminal.press('?')
    await terminal.press('p')

    await terminal.press('C-c')
    await isRestored(0)
  })

  it('shows what it lost, and restores the terminal when it is stopped', async () => {
    await start()
    await terminal.shows(/1 sidecar, 1 armed/)
    await busy.squall.close()
    await terminal.shows(/LOST[^]*lost, trying again: /)
    await writeFile(join(PICTURES, 'lost.txt'), await terminal.screen())
    await signal('SIGTERM')
    await isRestored(0)
  })

  it('gives the terminal back when it crashes, with the error to be read', async () => {
    const mine = join(PICTURES, 'crash.mjs')
    await writeFile(mine, `process.on('SIGUSR2', () => { throw new Error('a planted bug') })\n`)
    await start(`NODE_OPTIONS=--import=${mine}`)
    await terminal.shows(/1 sidecar, 1 armed/)
    await signal('SIGUSR2')
    await terminal.shows(/Error: a planted bug/)
    await isRestored(1)
  })

  it('shows no colours where none are wanted', async () => {
    await start('NO_COLOR=1')
    await terminal.shows(/1 sidecar, 1 armed/)
    expect(await terminal.coloured()).not.toContain('\u001b')
    await terminal.press('q')
    await isRestored(0)
  })
})

/** The screen once it is drawn to its end: the terminal may show a part of what was written. */
async function sampled(): Promise<string> {
  let now = ''
  await eventually(async () => {
    const before = now
    now = await terminal.screen()
    return now === before ? undefined : 'the screen changes'
  }, PATIENCE)
  return now
}

/** Sends a signal to what runs in the shell of the terminal. */
async function signal(name: NodeJS.Signals): Promise<void> {
  const shell = await terminal.tell('#{pane_pid}')
  const child = await readFile(`/proc/${shell}/task/${shell}/children`, 'utf8')
  process.kill(Number(child.trim()), name)
}
