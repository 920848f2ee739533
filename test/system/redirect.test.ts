// part: pod
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { failing, mountRules, type MountedRules } from '../live/rules-directory.ts'
import { PATIENCE } from './patience.ts'
import { startCluster } from '../support/cluster.ts'
import { ADDRESSES, type Peer, type PodNetwork } from './pod-network.ts'

const [POD4, POD6] = ADDRESSES.pod
const POLL = { timeout: PATIENCE }
const PORTS = ['--port', '3000=15300', '--port', '3100=15301'] as const

let network: PodNetwork
let rules: MountedRules
let app: Peer
let inside: Peer
let outside: Peer

beforeAll(async () => {
  network = await startCluster('network')
  rules = await mountRules(failing('broken'))
  app = await network.peer('pod')
  await app.serve('::', 3000)
  await app.serve('::', 3001)
  await app.serve('::', 3100)
  await app.serve('127.0.0.1', 3200)
  inside = await network.peer('pod')
  outside = await network.peer('outside')
  // The same user as the upstream's: what keeps them apart is where they connect to.
  await network.start(
    '--listen',
    '[::]:15300',
    '--upstream',
    'http://127.0.0.1:3000',
    '--listen',
    '[::]:15301',
    '--upstream',
    'http://127.0.0.1:3100',
    '--upstream-host',
    POD4,
    '--admin',
    '[::]:15390',
    '--rules',
    rules.file,
  )
})

afterEach(async () => {
  await network.squall('redirect', '--undo')
})

afterAll(async () => {
  await network?.close()
  await rules?.remove()
})

async function redirect(...flags: readonly string[]): Promise<void> {
  const { code, stderr } = await network.squall('redirect', ...PORTS, ...flags)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
}

/** The rules of the pod, without what they have counted. */
async function ruleset(): Promise<string> {
  const { stdout } = await network.run('nft', 'list', 'ruleset')
  return stdout.replace(/packets \d+ bytes \d+/g, '')
}

describe('what comes from outside', () => {
  test('goes to the sidecar, by IPv4 and IPv6, for every declared port and no other', async () => {
    expect(await outside.call(POD4, 3000)).toBe('fine')
    await redirect()
    for (const host of [POD4, POD6]) {
      expect(await outside.call(host, 3000)).toBe('broken')
      expect(await outside.call(host, 3100)).toBe('broken')
      expect(await outside.call(host, 3001)).toBe('fine')
    }
  })

  test('reaches the upstream once: the sidecar does not meet itself', async () => {
    await redirect()
    await rules.swap(failing('broken', 'another'))
    try {
      await expect.poll(() => outside.call(POD4, 3000), POLL).toBe('fine')
      const before = await app.asked()
      for (let call = 0; call < 20; call++) expect(await outside.call(POD4, 3000)).toBe('fine')
      for (let call = 0; call < 20; call++) expect(await outside.call(POD6, 3100)).toBe('fine')
      expect((await app.asked()) - before).toBe(40)
    } finally {
      await rules.swap(failing('broken'))
      await expect.poll(() => outside.call(POD4, 15300), POLL).toBe('broken')
    }
  })
})

test('a captured port is refused by the kernel while a rule keeps the listener closed', async () => {
  await redirect()
  const rule =
    '{ name: shut, match: { tool: probe }, faults: [reset: { at: connect, refuse: 1h }] }'
  await rules.swap(`rules: [${rule}]`)
  try {
    for (const host of [POD4, POD6]) {
      await expect.poll(() => outside.call(host, 3000), POLL).toBe('ECONNREFUSED')
    }
    expect(await outside.call(POD4, 15390)).not.toBe('ECONNREFUSED')
  } finally {
    await rules.swap(failing('broken'))
    await expect.poll(() => outside.call(POD4, 3000), POLL).toBe('broken')
  }
})

describe('what comes from within', () => {
  test('goes to the sidecar by loopback, the way of a port-forward', async () => {
    await redirect()
    for (const host of ['127.0.0.1', '127.8.9.10', '::1']) {
      expect(await inside.call(host, 3000)).toBe('broken')
      expect(await inside.call(host, 3001)).toBe('fine')
    }
  })

  test("goes to the upstream by the pod's own address, the way of the sidecar", async () => {
    await redirect()
    for (const host of [POD4, POD6]) expect(await inside.call(host, 3000)).toBe('fine')
  })

  test('an upstream on loopback alone is reached by the user that is exempt', async () => {
    await network.start(
      '--listen',
      '[::]:15302',
      '--upstream',
      'http://127.0.0.1:3200',
      '--admin',
      'off',
      '--rules',
      rules.file,
    )
    const { code } = await network.squall('redirect', '--port', '3200=15302', '--exempt-uid', '0')
    expect(code).toBe(0)
    expect(await outside.call(POD4, 3200)).toBe('broken')
    const other = await network.peer('pod', ['setpriv', '--reuid', '65534', '--clear-groups'])
    expect(await other.call('127.0.0.1', 3200)).toBe('broken')
    expect(await inside.call('127.0.0.1', 3200)).toBe('fine')
    await rules.swap(failing('broken', 'another'))
    await expect.poll(() => outside.call(POD4, 3200), POLL).toBe('fine')
    const before = await app.asked()
    expect(await outside.call(POD4, 3200)).toBe('fine')
    expect((await app.asked()) - before).toBe(1)
    await rules.swap(failing('broken'))
    await expect.poll(() => outside.call(POD4, 15300), POLL).toBe('broken')
  })
})

describe('connections that are open', () => {
  test('when the rules come, are cut where the kernel kept no track of them', async () => {
    const fresh = await startCluster('network')
    try {
      const server = await fresh.peer('pod')
      await server.serve('::', 3000)
      await server.serve('::', 15_300)
      const client = await fresh.peer('outside')
      expect(await client.call(POD4, 3000, 'early')).toBe('fine')
      expect((await fresh.squall('redirect', ...PORTS)).code).toBe(0)
      expect(await client.call(POD4, 3000, 'early')).toBe('ECONNRESET')
      expect(await client.call(POD4, 3000, 'early')).toBe('fine')
    } finally {
      await fresh.close()
    }
  })

  test('when the rules come, stay with the upstream where it did', async () => {
    await network.run(
      'nft',
      'add table inet tracks; add chain inet tracks in { type filter hook input priority 0; }; add rule inet tracks in ct state new counter',
    )
    expect(await outside.call(POD4, 3000, 'tracked')).toBe('fine')
    await redirect()
    expect(await outside.call(POD4, 3000, 'tracked')).toBe('fine')
    expect(await outside.call(POD4, 3000, 'later')).toBe('broken')
    await network.run('nft', 'delete', 'table', 'inet', 'tracks')
  })

  test('when the rules come again, stay; when they go, are cut', async () => {
    await redirect()
    expect(await outside.call(POD4, 3000, 'kept')).toBe('broken')
    await redirect()
    expect(await outside.call(POD4, 3000, 'kept')).toBe('broken')
    await network.squall('redirect', '--undo')
    expect(await outside.call(POD4, 3000, 'kept')).toBe('ECONNRESET')
    expect(await outside.call(POD4, 3000, 'kept')).toBe('fine')
  })
})

describe('the rules', () => {
  test('twice are as once', async () => {
    await redirect()
    const once = await ruleset()
    await redirect()
    expect(await ruleset()).toBe(once)
    expect(once.match(/redirect to/g)).toHaveLength(6)
  })

  test('to undo leaves nothing, and leaves what others made', async () => {
    await network.run('nft', 'add', 'table', 'inet', 'other')
    const before = await ruleset()
    await redirect()
    expect(await network.squall('redirect', '--undo')).toMatchObject({
      code: 0,
      stdout: 'the redirect is removed\n',
    })
    expect(await ruleset()).toBe(before)
    expect((await network.squall('redirect', '--undo')).code).toBe(0)
    await network.run('nft', 'delete', 'table', 'inet', 'other')
    expect(await ruleset()).toBe('')
  })

  test('are what a dry run prints, which changes nothing', async () => {
    const { stdout } = await network.squall('redirect', ...PORTS, '--dry-run')
    expect(await ruleset()).toBe('')
    await redirect()
    expect(await ruleset()).toContain('iifname != "lo" tcp dport 3100 counter')
    expect(stdout).toContain('iifname != "lo" tcp dport 3100 counter redirect to :15301')
  })
})

describe('rights', () => {
  const drop = ['--clear-groups', '--bounding-set', '-all', '--inh-caps', '-all']

  test('NET_ADMIN is enough, without a way to gain more', async () => {
    const only = ['--no-new-privs', '--inh-caps', '-all', '--bounding-set', '-all,+net_admin']
    const args = [...only, process.execPath, process.env['SQUALL_PROGRAM'] ?? 'dist/cli/main.js']
    const ran = await network.run('setpriv', ...args, 'redirect', ...PORTS)
    expect(ran).toEqual({
      code: 0,
      stdout: 'redirecting 3000 to 15300, 3100 to 15301\n',
      stderr: '',
    })
  })

  test('without it, one line says what is missing, and nothing is changed', async () => {
    const args = [...drop, process.execPath, process.env['SQUALL_PROGRAM'] ?? 'dist/cli/main.js']
    const ran = await network.run('setpriv', ...args, 'redirect', ...PORTS)
    expect(ran.code).toBe(1)
    expect(ran.stderr).toMatch(
      /^squall: no permission to change nftables rules; run as user 0.*\n$/,
    )
    expect(await ruleset()).toBe('')
  })
})
