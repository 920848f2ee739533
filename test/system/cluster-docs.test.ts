// part: cluster
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Bare } from './cluster/bare.ts'
import { missingForCluster, note, POLL, ROLLOUT, since } from './cluster/installed.ts'
import type { CommandRun } from './cluster/namespaces.ts'
import { clusterProgram } from './cluster/programs.ts'
import { workload } from './cluster/workloads.ts'
import { blocksOf, ROOT } from '../docs/blocks.ts'
import { HELM } from './helm.ts'
import { SQUALL_IMAGE } from './pod-images.ts'
import { startCluster } from '../support/cluster.ts'

// A reader with a fresh cluster and these pages: every command is copied from them. The tests are
// one story.
const PAGES = [
  'docs/get-started/kubernetes.md',
  'docs/guides/faults-do-not-fire.md',
  'docs/guides/upgrade-uninstall.md',
]
const PROGRAM = process.env['SQUALL_PROGRAM'] ?? `${ROOT}dist/cli/main.js`
const [REPOSITORY, TAG] = SQUALL_IMAGE.split(/:(?=[^:]*$)/)

/** Substitutes for the names that readers choose. */
const SUBSTITUTIONS: readonly (readonly [page: string, here: string])[] = [
  ['registry.example.com/squall', `${REPOSITORY},image.tag=${TAG},image.pullPolicy=Never`],
  ['deployment/NAME', 'deployment/mcp-server'],
  ['app=a', 'app=mcp-server'],
]

/** Beginnings of the blocks that are not run, with the reason. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'docker build': 'there is no Docker and no registry; the test builds the image and imports it',
  'kubectl -n squall-system logs job/squall-uninstall': 'only after a failed helm uninstall',
}

/** Commands of the pages that need no cluster: the tests of pages run them. */
const ON_ONE_MACHINE = /^npx mcp-squall (?:check --target|explain --tool|top)/

/** Calls as a client makes them; the page leaves them to the reader. */
const CALLS = `for i in 1 2 3; do
  curl -s -o answer -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_docs","arguments":{}}}' http://ADDRESS:3000/mcp
done`

let bare: Bare
let blocks: readonly string[]
let rules: string
const taken = new Set<string>()

describe.skipIf(missingForCluster() !== undefined)('the pages about clusters', () => {
  beforeAll(async () => {
    const all = (await Promise.all(PAGES.map(blocksOf))).flat()
    blocks = all
      .filter(({ language, text }) => language === 'sh' && !ON_ONE_MACHINE.test(text))
      .map(({ text }) => text)
    rules = all.find(({ language }) => language === 'yaml')!.text
    bare = await startCluster('bare', 'shop')
    await makeHome()
    expect(await bare.stage.refusal('shop', workload('mcp-server', {}))).toBe('')
  }, 480_000)

  afterAll(() => bare?.cluster.close(), 60_000)

  test('installs the webhook, and a Deployment gets the sidecar and rules', async () => {
    const begun = performance.now()
    expect(await run(block('helm install'))).toContain('successfully rolled out')
    await expect.poll(() => bare.stage.wouldRefuse(), POLL).toBe('')
    await run(block('kubectl -n shop patch'))
    const [, , show] = lines('kubectl -n shop patch')
    expect(await run(show!)).toMatch(/mcp-server-\S+ +\{.*"mode":"\w+"/)
    await writeFile(join(home(), 'rules.yaml'), rules)
    expect(await run(block('npx mcp-squall validate'))).toContain('rules loaded in 1 of 1 pods')
    expect(await run(block('npx mcp-squall status'))).toMatch(/^shop +mcp-server-\S+ +\w+ +armed/m)
    expect(await run(block('npx mcp-squall stop'))).toContain('confirmed by 1 of 1 pods')
    expect(await run(block('npx mcp-squall resume'))).toContain('resumed')
    note(`active rules by the page after ${since(begun)}`)
  }, 300_000)

  test('finds why faults do not fire', async () => {
    expect(await run(block("kubectl -n shop get pod POD -o jsonpath='{"))).toContain('"mode"')
    await run(block('kubectl -n shop get events'))
    expect(await run(block('kubectl -n squall-system get deployment'))).toMatch(
      /injected[^]*notAfter=/,
    )
    const forward = block('kubectl -n shop port-forward')
    const text = await run(
      `trap 'kill $!' EXIT`,
      CALLS,
      forward,
      block('curl -s localhost:15390/api/rules'),
      block('curl -s localhost:15390/api/state'),
      block("curl -s localhost:15390/metrics | grep -e '^squall_rule"),
    )
    expect(text).toMatch(/^squall_calls_total\{/m)
    expect(text).toContain('"search-is-down"')
    expect(text).toMatch(/"armed": ?true/)
    expect(text).toMatch(/^squall_rule_evaluations_total\{.*result="injected".*\} [1-9]/m)
    expect(await run(block('kubectl -n shop logs POD'))).toContain('search-is-down')
  }, 60_000)

  test('applies, stops and attaches, by the guides', async () => {
    const apply = await shellBlocks('docs/guides/apply.md')
    const [applied, labelled, stopped, keyed, unkeyed, status] = apply
    expect(apply).toHaveLength(6)
    // At a terminal, squall asks before rules without an end replace those of the page before.
    const forced = applied!.replace('squall apply', 'squall apply --force')
    expect(await run(forced)).toContain('rules loaded in 1 of 1 pods')
    expect(await run(labelled!)).toContain('rules loaded in 1 of 1 pods')
    expect(await run(stopped!)).toContain('stopped: confirmed by 1 of 1 pods')
    await run(keyed!)
    expect(await run(status!)).toContain('disarmed')
    expect(await run('npx mcp-squall resume -n shop')).toContain('resumed')
    expect(await run(unkeyed!)).toContain('configmap/squall-rules patched')
    const [bind] = await shellBlocks('docs/guides/cluster-cli.md')
    expect(await run(bind!)).toContain('squall-stop created')
    expect(await bare.stage.refusal('shop', workload('plain', {}))).toBe('')
    await bare.stage.kubectl('-n', 'shop', 'rollout', 'status', 'deploy/plain', ROLLOUT)
    const [plain] = await bare.stage.pods('shop', 'app=plain')
    const [attach] = await shellBlocks('docs/guides/attach.md')
    const here = attach!
      .replaceAll(/mcp-server-[\w-]+/g, plain!.metadata.name)
      .replaceAll(/--image \S+/g, `--image ${SQUALL_IMAGE}`)
    expect(await run(here)).toMatch(/attached to shop\/plain[^]*detached/)
  }, 300_000)

  test('runs as kubectl plugin, by the command of docs/guides/cluster-cli.md', async () => {
    const page = await readFile(`${ROOT}docs/guides/cluster-cli.md`, 'utf8')
    const [, link, use] = /as kubectl plugin \| `([^`]+)`; then `([^`]+)`/.exec(page)!
    await run(link!)
    // The sidecar that was detached before may be about to end.
    await expect.poll(() => run(use!), POLL).toMatch(/^shop +mcp-server-\S+ +\w+ +armed +1 /m)
    expect(await run(`${use!} --json`)).toContain('"search-is-down"')
  })

  test('upgrades and uninstalls', async () => {
    expect(await run(block('helm upgrade'))).toContain('has been upgraded')
    expect(await run(block('helm uninstall'))).toMatch(/uninstalled[^]*squall-system" deleted/)
  }, 120_000)

  test('has no command that is neither run nor left out for a reason', () => {
    const left = Object.keys(NOT_RUN)
    const missed = blocks.filter(
      (text) => !taken.has(text) && !left.some((start) => text.startsWith(start)),
    )
    expect(missed).toEqual([])
  })
})

async function shellBlocks(page: string): Promise<readonly string[]> {
  return (await blocksOf(page)).filter(({ language }) => language === 'sh').map(({ text }) => text)
}

/** The block of the page that begins so. */
function block(start: string): string {
  const found = blocks.filter((text) => text.startsWith(start))
  expect(found, `blocks that begin with ${start}`).toHaveLength(1)
  taken.add(found[0]!)
  return found[0]!
}

function lines(start: string): readonly string[] {
  return block(start).trim().split('\n')
}

/** Runs commands as the reader does; a failed one ends them. The result is what they print. */
async function run(...commands: readonly string[]): Promise<string> {
  const [pod] = await bare.stage.pods('shop', 'app=mcp-server')
  const script = SUBSTITUTIONS.reduce(
    (text, [page, here]) => text.replaceAll(page, here),
    commands.join('\n'),
  )
    .replaceAll(/\bPOD\b(?!:)/g, pod!.metadata.name)
    .replaceAll('ADDRESS', pod!.status.podIP ?? '')
  const env = { PATH: `${home()}/.local/bin:${home()}/bin:${process.env['PATH']}` }
  const ran: CommandRun = await bare.cluster.user('sh', ['-ec', `cd "$HOME"\n${script}`], { env })
  expect(ran.ok, `${script}\n${ran.text}`).toBe(true)
  return ran.text
}

function home(): string {
  return bare.cluster.namespaces.directory
}

/** A reader's machine: programs on PATH, and a checkout. */
async function makeHome(): Promise<void> {
  await mkdir(join(home(), 'bin'))
  await mkdir(join(home(), '.local/bin'), { recursive: true })
  const squall = join(home(), 'bin/mcp-squall')
  await writeFile(squall, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`)
  await chmod(squall, 0o755)
  // For the kubectl plugin, which a page links to it.
  await symlink(squall, join(home(), 'bin/squall'))
  // The pages print `npx mcp-squall`; the home of this test is no clone.
  const npx = join(home(), 'bin/npx')
  await writeFile(npx, '#!/bin/sh\nexec "$@"\n')
  await chmod(npx, 0o755)
  await symlink(clusterProgram('kubectl'), join(home(), 'bin/kubectl'))
  await symlink(HELM, join(home(), 'bin/helm'))
  await symlink(`${ROOT}deploy`, join(home(), 'deploy'))
}
