// part: terminal
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { failing } from '../live/rules-directory.ts'
import { closers } from '../support/closers.ts'
import { startCluster } from '../support/cluster.ts'
import { startTerminal } from '../support/commands.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

const opened = closers()

test('squall apply asks before rules without an end replace rules that have one', async () => {
  const shop = opened(await startCluster('shop'))
  const file = join(shop.directory, 'rules.yaml')
  await writeFile(file, failing('old'))
  await shop.apply('-f', file, '--for', '15m')
  await writeFile(file, failing('new'))
  const terminal = opened(await startTerminal(120, 30))
  const command = `${process.execPath} ${MAIN} apply --kubeconfig ${shop.kubeconfig} -f ${file}`
  for (const [answer, shown, code] of [
    ['n', /limit the rules with --for 15m/, 2],
    ['C-c', /squall takes no further action/, 1],
    ['C-d', /limit the rules with --for 15m/, 2],
    ['y', /no pod in shop reads/, 0],
  ] as const) {
    await terminal.enter('clear')
    await terminal.enter(`${command}; echo "code $?."`)
    await terminal.shows(/apply them\? \[y\/N\]/)
    expect(shop.rules()['rules.yaml']).toContain('old')
    if (answer.length > 1) await terminal.press(answer)
    else await terminal.enter(answer)
    await terminal.shows(new RegExp(`code ${code}\\.`))
    expect((await terminal.screen()).replace(/\s+/g, ' ')).toMatch(shown)
  }
  expect(shop.rules()['rules.yaml']).toContain('new')
})
