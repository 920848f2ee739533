import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { connectKube } from '../../src/kube/connect.ts'
import { NAMESPACES } from '../../src/kube/resources.ts'
import { issueServer, createCa } from '../../src/webhook/issue-certificate.ts'
import {
  type Cluster,
  kubeconfigText,
  startCluster,
  TOKEN,
} from '../../../../test/support/cluster.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster('api')
  cluster.api.put('/api/v1/namespaces/shop', {})
})
afterAll(() => cluster.close())

const PLACE = { kind: NAMESPACES, name: 'shop' }

async function write(name: string, text: string): Promise<string> {
  const file = join(cluster.directory, name)
  await writeFile(file, text)
  return file
}

async function works(options: {
  readonly kubeconfig?: string
  readonly context?: string
  readonly env?: Record<string, string>
}): Promise<string> {
  const { kubeconfig, context, env = {} } = options
  const client = connectKube({ kubeconfig, context, env, version: 'test' })
  try {
    await client.get(PLACE)
    return client.namespace
  } finally {
    await client.close()
  }
}

function withUser(user: object): string {
  return kubeconfigText(cluster.api, user)
}

test('a token, its file and the current context are used', async () => {
  expect(await works({ kubeconfig: cluster.kubeconfig })).toBe('shop')
  await write('token', `${TOKEN}\n`)
  const file = await write('with-file', withUser({ tokenFile: 'token', token: 'ignored' }))
  expect(await works({ env: { KUBECONFIG: file } })).toBe('shop')
  await mkdir(join(cluster.directory, '.kube'))
  await write('.kube/config', withUser({ token: TOKEN }))
  expect(await works({ env: { HOME: cluster.directory } })).toBe('shop')
})

test('several files are read as one, the first word counting', async () => {
  const one = await write(
    'one',
    stringify({
      'current-context': 'mine',
      contexts: [
        { name: 'mine', context: { cluster: 'cluster', user: 'tester', namespace: 'first' } },
      ],
    }),
  )
  const KUBECONFIG = [one, '/nowhere/config', cluster.kubeconfig].join(':')
  expect(await works({ env: { KUBECONFIG } })).toBe('first')
  expect(await works({ env: { KUBECONFIG }, context: 'test' })).toBe('shop')
})

test('a client certificate is shown', async () => {
  const validity = { from: new Date(Date.now() - 1_000), until: new Date(Date.now() + 60_000) }
  const pair = issueServer(createCa('clients', validity), ['me'], validity)
  const encoded = (text: string): string => Buffer.from(text).toString('base64')
  const file = await write(
    'with-cert',
    withUser({
      token: TOKEN,
      'client-certificate-data': encoded(pair.cert),
      'client-key-data': encoded(pair.key),
    }),
  )
  expect(await works({ kubeconfig: file })).toBe('shop')
})

test.each(['v1', 'v1beta1'])(
  'a plugin of %s is run as the kubeconfig says, once',
  async (version) => {
    const apiVersion = `client.authentication.k8s.io/${version}`
    const counted = join(cluster.directory, `count-${version}`)
    const program = `
    const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO)
    if (info.apiVersion !== '${apiVersion}' || process.env.EXTRA !== 'yes') process.exit(3)
    if (info.spec.cluster.config.audience !== 'me') process.exit(4)
    require('fs').appendFileSync(process.argv[2], 'x')
    console.log(JSON.stringify({ apiVersion: info.apiVersion, kind: 'ExecCredential', status: { token: '${TOKEN}', expirationTimestamp: new Date(Date.now() + 60000).toISOString() } }))`
    await write(`plugin-${version}.cjs`, `#!${process.execPath}\n${program}`)
    await chmod(join(cluster.directory, `plugin-${version}.cjs`), 0o755)
    const exec = {
      apiVersion,
      command: `./plugin-${version}.cjs`,
      args: [counted],
      env: [{ name: 'EXTRA', value: 'yes' }],
      interactiveMode: 'Never',
      provideClusterInfo: true,
    }
    const ca = Buffer.from(cluster.api.ca).toString('base64')
    const extensions = [
      { name: 'client.authentication.k8s.io/exec', extension: { audience: 'me' } },
    ]
    const file = await write(
      `exec-${version}`,
      stringify({
        'current-context': 'test',
        clusters: [
          {
            name: 'c',
            cluster: { server: cluster.api.url, 'certificate-authority-data': ca, extensions },
          },
        ],
        contexts: [{ name: 'test', context: { cluster: 'c', user: 'u' } }],
        users: [{ name: 'u', user: { exec } }],
      }),
    )
    const client = connectKube({ kubeconfig: file, context: undefined, env: {}, version: 'test' })
    await client.get(PLACE)
    await client.get(PLACE)
    const { readFile } = await import('node:fs/promises')
    expect(await readFile(counted, 'utf8')).toBe('x')
    // Rejected credentials are fetched anew, once.
    let refused = 0
    cluster.api.before = () => (refused++ === 0 ? 401 : undefined)
    await client.get(PLACE)
    expect(await readFile(counted, 'utf8')).toBe('xx')
    cluster.api.before = () => undefined
    await client.close()
  },
)

/** The credential plugin that runs this program of Node. */
function plugin(program: string): object {
  const args = ['-e', program]
  const apiVersion = 'client.authentication.k8s.io/v1'
  return { exec: { apiVersion, command: process.execPath, args } }
}

test('credentials are read from a plugin that leaves a program with its output behind', async () => {
  const status = { token: TOKEN }
  const response = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status }
  // The program ends when nobody reads its output.
  const program = `
    const more = ['-e', 'process.stdout.on("error", () => process.exit()); setInterval(() => console.log(" "), 50)']
    require('child_process').spawn(process.execPath, more, { stdio: 'inherit', detached: true }).unref()
    require('fs').writeSync(1, ${JSON.stringify(JSON.stringify(response))})`
  const file = await write('left-behind', withUser(plugin(program)))
  expect(await works({ kubeconfig: file })).toBe('shop')
})

const TROUBLES: readonly [string, () => object | string, RegExp][] = [
  [
    'a plugin that is not installed',
    () => ({
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: 'no-such-plugin',
        installHint: 'get it at the usual place',
      },
    }),
    /no-such-plugin is not installed; get it at the usual place/,
  ],
  [
    'a plugin that fails',
    () => plugin('process.exit(7)'),
    /exited with code 7; run the command by hand/,
  ],
  [
    'a plugin that is killed, and has started a program that goes on',
    () =>
      plugin(
        // It ends when nobody reads its output.
        `const more = ['-e', 'process.stdout.on("error", () => process.exit()); setInterval(() => console.log(1), 50)']
          require('child_process').spawn(process.execPath, more, { stdio: 'inherit' })
          process.kill(process.pid, 'SIGKILL')`,
      ),
    /was killed by SIGKILL; run the command by hand to see why/,
  ],
  [
    'a plugin that prints no credentials',
    () => plugin('console.log("{}")'),
    /printed no ExecCredential/,
  ],
  [
    'a plugin that prints another version',
    () =>
      plugin(
        'console.log(JSON.stringify({kind:"ExecCredential",apiVersion:"x",status:{token:"t"}}))',
      ),
    /another apiVersion/,
  ],
  [
    'a plugin of an old version',
    () => ({ exec: { apiVersion: 'client.authentication.k8s.io/v1alpha1', command: 'x' } }),
    /exec.apiVersion must be one of/,
  ],
  ['a password', () => ({ username: 'me', password: 'hidden-word' }), /no longer accept passwords/],
  ['a provider that is gone', () => ({ 'auth-provider': { name: 'gcp' } }), /use an exec plugin/],
  [
    'a client certificate without its key, or a key without its certificate',
    () => ({ 'client-certificate-data': Buffer.from('-----BEGIN X').toString('base64') }),
    /must set both client-certificate and client-key/,
  ],
  ['a token with a line break', () => ({ token: 'hidden-word\nx' }), /contains no token/],
  [
    'a token file that is not there',
    () => ({ tokenFile: 'nowhere' }),
    /nowhere cannot be read \(no such file or directory\)/,
  ],
]

test.each(TROUBLES)('%s is refused with what to do', async (_what, user, says) => {
  const file = await write('trouble', withUser(user() as object))
  const error = await works({ kubeconfig: file }).catch((caught: unknown) => caught as Error)
  expect(String(error)).toMatch(says)
  expect(String(error)).not.toContain('hidden-word')
})

test('what is wrong with a kubeconfig is said', async () => {
  const proxied = withUser({}).replace(
    'server:',
    'proxy-url: ftp://me:hidden-word@proxy\n      server:',
  )
  const cases: readonly [string, RegExp, string?][] = [
    [proxied, /proxy-url is not the URL of a proxy; write http.* or socks5:/],
    ['a: [', /is not valid YAML \(line 1\)/],
    ['[]', /is not a valid kubeconfig/],
    ['users: []', /no current-context is set; available: none; choose one with --context/],
    [
      withUser({}),
      /context "prod" does not exist; available: test; choose one with --context/,
      'prod',
    ],
    [
      withUser({}).replace('cluster: cluster', 'cluster: gone'),
      /refers to the cluster "gone", which does not exist/,
    ],
    [withUser({}).replace('user: tester', 'user: gone'), /refers to the user "gone"/],
    [withUser({}).replace(cluster.api.url, 'ftp://x'), /must set an http or https server URL/],
    [
      withUser({}).replace('server:', 'insecure-skip-tls-verify: true\n      server:'),
      /disables the check/,
    ],
  ]
  for (const [text, says, context] of cases) {
    const file = await write('wrong', text)
    await expect(works({ kubeconfig: file, ...(context && { context }) })).rejects.toThrow(says)
  }
  await expect(works({ env: { HOME: '/nowhere' } })).rejects.toThrow(
    /no kubeconfig found \(looked for \/nowhere/,
  )
  await expect(works({ kubeconfig: '/nowhere' })).rejects.toThrow(
    /\/nowhere cannot be read \(no such file or directory\)/,
  )
})

test('another CA is not trusted, unless everything is', async () => {
  const stranger = createCa('stranger', {
    from: new Date(Date.now() - 1_000),
    until: new Date(Date.now() + 60_000),
  })
  const ca = Buffer.from(cluster.api.ca).toString('base64')
  const other = withUser({ token: TOKEN }).replace(
    ca,
    Buffer.from(stranger.cert).toString('base64'),
  )
  // YAML breaks long lines where it likes.
  const config = (extra: object): string =>
    stringify({
      'current-context': 'test',
      clusters: [{ name: 'c', cluster: { server: cluster.api.url, ...extra } }],
      contexts: [{ name: 'test', context: { cluster: 'c', user: 'u' } }],
      users: [{ name: 'u', user: { token: TOKEN } }],
    })
  expect(other).toBeDefined()
  const strange = await write(
    'strange',
    config({ 'certificate-authority-data': Buffer.from(stranger.cert).toString('base64') }),
  )
  await expect(works({ kubeconfig: strange })).rejects.toThrow(
    /is not signed by the cluster's certificate-authority/,
  )
  const insecure = await write('insecure', config({ 'insecure-skip-tls-verify': true }))
  expect(await works({ kubeconfig: insecure })).toBe('default')
  const named = await write(
    'named',
    config({ 'certificate-authority-data': ca, 'tls-server-name': 'other' }),
  )
  await expect(works({ kubeconfig: named })).rejects.toThrow(
    /is for other names; set tls-server-name/,
  )
})

test.each([
  ['lists of JSON', '['.repeat(50_000)],
  ['maps of JSON', '{"a":'.repeat(50_000)],
  ['lists of YAML', `${'- '.repeat(20_000)}x`],
  ['maps of YAML', Array.from({ length: 2_000 }, (_, n) => `${' '.repeat(n)}a:`).join('\n')],
])('%s that nest without end are refused, and take no stack', async (name, text) => {
  const kubeconfig = await write(`deep ${name}`, text)
  await expect(works({ kubeconfig })).rejects.toThrow(/nested more than 200 levels deep; fix it/)
})
