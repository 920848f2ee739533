// part: slow-nightly
import { join } from 'node:path'
import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { closers } from '../../../../test/support/closers.ts'
import { startCluster } from '../../../../test/support/cluster.ts'
import { startProgram } from '../../../../test/support/commands.ts'

const opened = closers()

test('a plugin that prints no credentials within a minute is named, with the next step', async () => {
  const { directory } = opened(await startCluster('api'))
  const config = parse(await readFile(join(directory, 'config'), 'utf8')) as object
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: ['-e', 'setInterval(() => {}, 1000)'],
    interactiveMode: 'Never',
  }
  const kubeconfig = join(directory, 'waiting')
  await writeFile(kubeconfig, stringify({ ...config, users: [{ name: 'tester', user: { exec } }] }))
  const args = ['status', '-n', 'shop', '--kubeconfig', kubeconfig]
  const { code, stderr } = await startProgram(args, {}, { here: true })
  expect(code).toBe(1)
  expect(stderr).toContain(
    `${process.execPath} timed out after 60 seconds; run the command by hand to log in`,
  )
})
