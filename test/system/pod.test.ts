// part: pod
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Container, Handler, Pod } from '../../packages/kubernetes/src/injector/pod.ts'
import { failing } from '../live/rules-directory.ts'
import { PATIENCE } from './patience.ts'
import { buildImages, inspectImage, SIDECAR_IMAGE, SQUALL_IMAGE } from './pod-images.ts'
import { APP, injectedByCommand, injectedByWebhook, template } from './pod-manifest.ts'
import { armed, POD_IP, type PodStage } from './pod-stage.ts'
import { startCluster } from '../support/cluster.ts'

const POLL = { timeout: PATIENCE, interval: 100 }
const ADMIN = `http://${POD_IP}:15390`
const WEATHER = ['get_weather', { city: 'Oslo' }] as const

beforeAll(buildImages, 330_000)

function container(pod: Pod, name: string): Container {
  return pod.spec!.containers!.find((one) => one.name === name)!
}

/** The parts of the upstream that no mode may change. */
function untouched({
  ports,
  readinessProbe,
  livenessProbe,
  lifecycle,
  ...rest
}: Container): object {
  void [ports, readinessProbe, livenessProbe, lifecycle]
  return rest
}

test.each([
  ['the sidecar', SIDECAR_IMAGE],
  ['all commands', SQUALL_IMAGE],
])('the image of %s is small, and says what it is and how it is', async (name, image) => {
  const { size, config } = await inspectImage(image)
  process.stderr.write(`the image of ${name} has ${(size / 1e6).toFixed(1)} MB\n`)
  expect(size).toBeLessThan(170e6)
  expect(config).toMatchObject({
    User: '65532:65532',
    Entrypoint: ['squall'],
    Cmd: ['run'],
    Healthcheck: { Test: ['CMD', 'squall', 'wait-ready', '--ready-wait', '2s'] },
    Labels: { 'org.opencontainers.image.licenses': 'Apache-2.0' },
  })
})

/** The port that clients use, how the upstream listens, and who injects. */
const MODES = {
  redirect: { port: 3000, host: '::', inject: injectedByWebhook },
  port: { port: 15_300, host: '::', inject: (pod: Pod) => injectedByCommand(pod, 'port') },
  bind: { port: 3000, host: '127.0.0.1', inject: (pod: Pod) => injectedByCommand(pod, 'bind') },
} as const

describe.each(['redirect', 'port', 'bind'] as const)('a pod in the mode %s', (mode) => {
  const { port, host, inject } = MODES[mode]
  const place = `http://${POD_IP}:${port}`
  const before = template(host)
  let pod: Pod
  let stage: PodStage

  beforeAll(async () => {
    pod = await inject(before)
    stage = await startCluster('pod', `squall-${mode}-${process.pid}`, pod)
  }, 180_000)

  afterAll(() => stage?.close())

  test("the upstream's container is as it was, but for what must lead elsewhere", () => {
    const [was, is] = [container(before, APP), container(pod, APP)]
    expect(untouched(is)).toEqual(untouched(was))
    expect(is.ports).toEqual(mode === 'port' ? [{ containerPort: 3000 }] : was.ports)
    expect(is.livenessProbe).toMatchObject({ periodSeconds: 2, failureThreshold: 2 })
  })

  test('starts from the compile cache that the image was built with', async () => {
    const { output } = await stage.exec('squall', 'node', '-p', CACHE_READS)
    const read = output.match(/ for CommonJS \/app\/dist\/\S+\.js\b.*was accepted/g) ?? []
    const expected = output.match(/reading cache from \S+ for CommonJS \/app\/dist\//g) ?? []
    expect(read.length, output).toBe(expected.length)
    expect(read.length).toBeGreaterThan(5)
  })

  test('runs with no more rights than it says', async () => {
    const caps = '{{.EffectiveCaps}} {{.HostConfig.ReadonlyRootfs}} {{.Config.User}}'
    expect(await stage.inspect('squall', caps)).toBe('[] true 65532:65532')
    const { output } = await stage.exec('squall', 'node', '-p', STATUS)
    expect(output).toBe('CapEff 0000000000000000, CapBnd 0000000000000000, NoNewPrivs 1')
    expect(pod.spec!.initContainers?.length ?? 0).toBe(mode === 'redirect' ? 1 : 0)
    expect((await stage.exec('squall', 'sh', '-c', 'true')).code).not.toBe(0)
    expect((await stage.exec('squall', 'node', '-p', UNLISTED)).output).toBe(
      'installed and bundled packages, unlisted:',
    )
  })

  test('its hook after the start ends when traffic is taken', async () => {
    const ran = await stage.exec('squall', 'squall', 'wait-ready')
    expect(ran, await stage.logs('squall')).toEqual({ code: 0, output: '' })
  })

  test('an MCP client meets the faults of the mounted rules, as they come and go', async () => {
    await expect.poll(() => stage.probe(`${place}/executed`), POLL).toMatchObject({ status: 200 })
    expect(await stage.connect(`${place}/mcp`)).toContain('get_weather')
    expect(await stage.call(...WEATHER)).toMatch(/^ok: .*Oslo/)
    await stage.rules.swap(failing('storm', 'get_weather'))
    await expect.poll(() => stage.call(...WEATHER), POLL).toBe('error: storm')
    expect(await stage.call('search_docs', { query: 'a' })).toMatch(/^ok: /)
    await stage.rules.swap(failing('flood', 'get_weather'))
    await expect.poll(() => stage.call(...WEATHER), POLL).toBe('error: flood')
    await stage.rules.swap(undefined)
    await stage.rules.swap(armed('get_weather', '/executed'))
    await expect.poll(() => stage.call(...WEATHER), POLL).toBe('error: broken')
  })

  test('probes pass while faults act on the same path', async () => {
    expect(await stage.probe(`${place}/executed`)).toMatchObject({ status: 503 })
    const [app, own] = [container(pod, APP), container(pod, 'squall')]
    // Where nothing is redirected the upstream's probes reach the upstream as they are.
    if (mode !== 'port') await expect.poll(() => asked(app.readinessProbe!), POLL).toBe(200)
    else expect(app.readinessProbe).toMatchObject({ tcpSocket: { port: 3000 } })
    for (const probe of [app.livenessProbe, own.readinessProbe, own.livenessProbe]) {
      await expect.poll(() => asked(probe!), POLL).toBe(200)
    }
    expect((await stage.probe(`${ADMIN}/app-health/${APP}/startupz`)).status).toBe(404)
  })

  /** Returns the status that the kubelet gets for a probe or a hook. */
  async function asked({ httpGet }: Handler): Promise<number> {
    return (await stage.probe(`http://${POD_IP}:${httpGet!.port}${httpGet!.path}`)).status
  }

  test('on its way out it disarms at once, and serves until the upstream is gone', async () => {
    expect(await stage.call(...WEATHER)).toBe('error: broken')
    const hook = container(pod, 'squall').lifecycle!.preStop!.exec!.command!
    let isOver = false
    const stopping = stage.exec('squall', ...hook).finally(() => (isOver = true))
    await expect.poll(() => stage.call(...WEATHER), POLL).toMatch(/^ok: /)
    expect(await asked(container(pod, APP).lifecycle!.preStop!)).toBe(200)
    expect(isOver).toBe(false)
    expect(await stage.stop(APP, 30)).toBe(0)
    expect(await stopping).toEqual({ code: 0, output: 'disarmed; the upstream has exited' })
    expect(await stage.stop('squall', 30)).toBe(0)
    expect(await stage.logs('squall')).toContain('"msg":"stopped"')
  })
})

/** Runs a command, and prints what Node reports of its compile cache on standard error. */
const CACHE_READS = `child_process.spawnSync('squall', ['wait-ready'], {
  env: { ...process.env, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' }, encoding: 'utf8' }).stderr`

const STATUS = `['CapEff', 'CapBnd', 'NoNewPrivs'].map((name) => name + ' ' +
  /\\t(.*)/.exec(fs.readFileSync('/proc/self/status', 'utf8').split('\\n').find((line) =>
  line.startsWith(name + ':')))[1]).join(', ')`

/**
 * Compares the packages that are installed, and those within the bundle, with the bill of
 * materials.
 */
const UNLISTED = `const { components } = JSON.parse(fs.readFileSync('/usr/share/sbom/squall.cdx.json', 'utf8'))
  const listed = components.map(({ name }) => name)
  const installed = fs.readdirSync('/app/node_modules').flatMap((name) => name[0] !== '@' ? [name] :
    fs.readdirSync('/app/node_modules/' + name).map((inner) => name + '/' + inner))
  const notices = fs.readFileSync('/app/dist/third-party-notices.txt', 'utf8')
  const bundled = [...notices.matchAll(/^-{80}\\n(\\S+) /gm)].map(([, name]) => name)
  ;(installed.includes('undici') ? 'installed' : '') + (bundled.includes('pino') ? ' and bundled' : '') +
    ' packages, unlisted:' + [...installed, ...bundled].filter((name) => !listed.includes(name)).join(' ')`
