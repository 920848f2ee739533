import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { inject, uninject } from './manifests.ts'

const GOLDEN = new URL('../../injector/golden/', import.meta.url)
const SETTINGS = new URL('settings.yaml', import.meta.url)
const CEILINGS = new URL('ceilings.yaml', import.meta.url)
const INPUTS = readdirSync(GOLDEN)
  .filter((name) => name.endsWith('.in.yaml'))
  .map((name) => ({ name, text: readFileSync(new URL(name, GOLDEN), 'utf8') }))

const pod = (more = '', kind = 'Pod'): string => `apiVersion: v1
kind: ${kind}
metadata:
  name: tools
  annotations:
    squall.dev/inject: "true"
spec:
  containers:
  - name: app
    image: tools:1
    ports:
    - containerPort: 3000
${more}`

const valuesOf = (text: string): unknown[] =>
  parseAllDocuments(text).map((document) => document.toJS() as unknown)

describe('squall inject', () => {
  it('leaves documents without pods that ask for it byte for byte', async () => {
    const odd = `%YAML 1.1
---
# by hand
kind:   ConfigMap
data: {a:   "1",
  b: 2}   # odd
...
---
kind: Pod
spec: {containers: []}   # asks for nothing


--- # next
kind: Deployment
`
    const { code, text, told } = await inject(odd)
    expect(code).toBe(0)
    expect(text).toBe(odd)
    expect(told).toMatch(/^pod\/\?: unchanged \(not_requested\)/)
  })

  it('keeps every line of a changed document that it does not change', async () => {
    const before = pod(`    stdin:   false   # odd spacing


    # a word before the end
    command: [ "a",   'b' ]
`)
    const { text } = await inject(before)
    const kept = text.split('\n')
    for (const line of before.split('\n')) expect(kept).toContain(line)
    expect(text).toContain('false   # odd spacing\n\n\n    # a word before the end\n')
  })

  it('says the same twice as once', async () => {
    const { text } = await inject(pod())
    expect((await inject(text)).text).toBe(text)
  })

  it('keeps the line ends of Windows', async () => {
    const { text } = await inject(pod().replaceAll('\n', '\r\n'))
    expect(text).toContain('squall.dev/status')
    expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
  })

  it('quotes what kubectl would read as something else', async () => {
    const annotations = { annotation: ['guard-error-rate=off', 'environment=yes'] }
    const { text } = await inject(pod(), annotations)
    expect(text).toContain('- "off"')
    expect(text).toContain('- "yes"')
    expect(text).toContain('squall.dev/guard-error-rate: "off"')
  })

  it('reads numbers as kubectl does', async () => {
    const mode = '  volumes:\n  - {name: data, secret: {defaultMode: 0644}}\n'
    const { text } = await inject(pod(mode), { format: ['json'] })
    expect(JSON.parse(text)).toMatchObject({
      spec: { volumes: [{ secret: { defaultMode: 420 } }, {}, {}, {}] },
    })
    expect((await inject(pod(mode))).text).toContain('defaultMode: 0644')
  })

  it('takes JSON and gives JSON', async () => {
    const value = valuesOf(pod())[0]
    const { text } = await inject(`${JSON.stringify(value, null, 4)}\n`)
    expect(text).toMatch(/^\{\n {4}"apiVersion"/)
    expect(JSON.parse(text)).toMatchObject({
      spec: { initContainers: [{ name: 'squall-redirect' }] },
    })
    const { text: yaml } = await inject(JSON.stringify(value), { format: ['yaml'] })
    expect(valuesOf(yaml)).toEqual([JSON.parse(text)])
  })

  it('finds pods in lists', async () => {
    const indented = pod()
      .replace(/^/gm, '    ')
      .replace('    apiVersion', '  - apiVersion')
      .trimEnd()
    const list = `apiVersion: v1\nkind: List\nitems:\n${indented}\n  - kind: Service\n    metadata: {name: x}\n`
    const { text, told } = await inject(list)
    expect(told).toMatch(/^pod\/tools: injected/)
    expect(valuesOf(text)).toMatchObject([
      { items: [{ spec: { initContainers: [{}] } }, { kind: 'Service' }] },
    ])
  })

  it('joins files', async () => {
    const { text } = await inject([pod().trimEnd(), 'kind: Service\n'])
    expect(valuesOf(text)).toMatchObject([{ kind: 'Pod' }, { kind: 'Service' }])
  })

  it('writes nothing when one pod is denied, and says what to do', async () => {
    const { code, text, told } = await inject([pod(), pod('  hostNetwork: true\n')])
    expect(code).toBe(1)
    expect(text).toBe('')
    expect(told).toMatch(/pod\/tools: denied \(host_network\): .*: run it without hostNetwork/)
    expect(told).toMatch(/nothing was written/)
  })

  it('takes the namespace from the input, and the version of the cluster from the command line', async () => {
    const namespace = `kind: Namespace
metadata:
  name: default
  labels: {pod-security.kubernetes.io/enforce: baseline}
---
`
    const { code, told } = await inject(namespace + pod())
    expect(code).toBe(1)
    expect(told).toMatch(/unnamed_port.*"baseline"/)
    const named = pod().replace('- containerPort', '- name: mcp\n      containerPort')
    const { text } = await inject(namespace + named, { 'kubernetes-version': ['v1.34.1-gke.1'] })
    expect(text).toContain('restartPolicy: Always')
  })

  it('gives every pod template annotations that were asked for', async () => {
    const { text } = await inject(pod().replace('inject: "true"', 'rules: mine'), {
      annotation: ['inject=true', 'example.com/team=a'],
    })
    expect(valuesOf(text)).toMatchObject([
      { metadata: { annotations: { 'squall.dev/inject': 'true', 'example.com/team': 'a' } } },
    ])
  })

  it('keeps comments where anchors are shared with a part that changes', async () => {
    const { text, told } = await inject(`# of the team
kind: Pod
metadata:
  name: tools
  annotations: {squall.dev/inject: "true"}
spec:
  containers:
  - name: app # the server
    ports: [{containerPort: 3000}]
    readinessProbe: &probe # asks the port
      tcpSocket: {port: 3000}
    livenessProbe: *probe
`)
    expect(text).toContain('# of the team\n')
    expect(text).toContain('- name: app # the server\n')
    expect(text).toContain('# asks the port\n')
    expect(text).not.toMatch(/[&*]probe/)
    expect(told).not.toContain('comments are lost')
  })

  it('says that comments are lost where it must write a document anew', async () => {
    const { code, text, told } = await inject(`kind: Pod
metadata: { name: tools, annotations: {squall.dev/inject: "true"} }
x: &base # of all containers
  ports: [{containerPort: 3000}]
  readinessProbe: {tcpSocket: {port: 3000}}
spec:
  containers:
  - <<: *base
    name: app
`)
    expect(code).toBe(0)
    expect(text).not.toContain('# of all containers')
    expect(told).toContain('pod/tools: its comments are lost')
  })

  it('keeps comments, quotes and order in the changed elements of a List', async () => {
    const list = `apiVersion: v1
kind: List
items:
# a comment before an element
- kind: Service # of tools
  apiVersion: v1
  metadata: {name: other}
- kind: Pod # with tools
  apiVersion: "v1"
  metadata:
    # the name comes first
    name: tools
    annotations:
      squall.dev/inject: "true"
  spec:
    containers:
    - name: app # the server
      ports: [{containerPort: 3000}]
- kind: List # in a list
  apiVersion: v1
  items:
  - kind: Pod
    apiVersion: v1
    metadata:
      name: inner # inner
      annotations:
        squall.dev/inject: "true"
    spec:
      containers:
      - name: app
        ports: [{containerPort: 3000}]
`
    const { code, text, told } = await inject(list)
    expect(code).toBe(0)
    const [{ items }] = valuesOf(text) as [{ items: { spec?: { initContainers?: object[] } }[] }]
    expect(items[1]?.spec?.initContainers ?? []).not.toHaveLength(0)
    const commented = list.split('\n').filter((each) => each.includes('#'))
    expect(text.split('\n')).toEqual(expect.arrayContaining(commented))
    expect(told).not.toContain('comments are lost')
    expect((await uninject(text)).text).toBe(list)
  })

  it('names annotated objects in which it knows no pod', async () => {
    const service = `apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: tools}
spec: {template: {metadata: {annotations: {squall.dev/inject: "true"}}}}
`
    const { code, text, told } = await inject([
      service,
      pod(),
      'kind: Service\nmetadata: {name: b}\n',
    ])
    expect(code).toBe(0)
    expect(text).toContain(service)
    expect(told).toContain(
      'service/tools: unchanged (unknown_kind): the pod template of Service of serving.knative.dev/v1 is unknown; the webhook injects',
    )
    expect(told).not.toContain('service/b')
  })

  it('edits documents with anchors so that they say what they should', async () => {
    const anchored = `kind: Pod
metadata: &meta
  name: tools
  annotations: {squall.dev/inject: "true"}
spec:
  containers:
  - name: app
    ports: [{containerPort: 3000}]
    readinessProbe: &probe
      tcpSocket: {port: 3000}
    livenessProbe: *probe
other: *meta
`
    const { text } = await inject(anchored)
    expect(valuesOf(text)).toMatchObject([
      {
        spec: {
          containers: [
            { name: 'squall' },
            {
              readinessProbe: { httpGet: { path: '/app-health/app/readyz' } },
              livenessProbe: { httpGet: { path: '/app-health/app/livez' } },
            },
          ],
        },
        other: { annotations: { 'squall.dev/inject': 'true' } },
      },
    ])
    expect(JSON.stringify((valuesOf(text)[0] as { other: unknown }).other)).not.toContain('status')
  })

  it.each([
    ['that is no YAML', 'a: [', /0\.yaml:1: .*fix the manifest/],
    ['with a mistake further down', 'a: 1\n---\nb: {\n', /0\.yaml:\d: /],
    ['with an alias bomb', bomb(), /cannot be read: .*alias/],
    ['that is nested too deeply', '['.repeat(20_000), /0\.yaml:1: /],
    ['that is no text', Buffer.from([0x61, 0xff, 0xfe]), /UTF-8/],
  ])('refuses a manifest %s', async (_, text, says) => {
    await expect(inject(text)).rejects.toThrow(says)
  })

  it('refuses what has the form of a pod and is none', async () => {
    const { code, told } = await inject(pod('  initContainers: {}\n'))
    expect(code).toBe(1)
    expect(told).toMatch(/invalid_pod\): spec\.initContainers must be a list/)
  })

  it('shows nothing that a terminal would obey', async () => {
    const { told } = await inject(pod().replace('name: tools', 'name: "\\e[2J\\u202ex"'))
    // oxlint-disable-next-line no-control-regex
    expect(told.replace(/\n/g, '')).not.toMatch(/[\u0000-\u001f\u202e]/)
  })
})

describe('squall inject with settings', () => {
  it('denies a pod that asks for more than their ceiling, and writes nothing', async () => {
    const loose = pod().replace('inject: "true"', 'inject: "true"\n    squall.dev/max-percent: 50%')
    const { code, text, told } = await inject(loose, { settings: [CEILINGS.pathname] })
    expect({ code, text }).toEqual({ code: 1, text: '' })
    expect(told).toContain(
      'denied (above_ceiling): squall.dev/max-percent of the pod is "50%": the limit set by the settings of the injector is "20%"; use a stricter value, or remove it',
    )
  })
})

describe('squall inject --undo', () => {
  it.each(INPUTS)('gives back what $name held', async ({ text: before }) => {
    const { text } = await inject(before, { 'kubernetes-version': ['1.33'] })
    const { code, text: after, told } = await uninject(text)
    expect(code).toBe(0)
    expect(valuesOf(after)).toEqual(valuesOf(before))
    expect(told).toMatch(/unchanged/)
  })

  it('gives back the same text where nothing had to be written anew', async () => {
    const { text } = await inject(pod())
    expect((await uninject(text)).text).toBe(pod())
  })

  it('knows of other prefixes', async () => {
    const other = pod().replace('squall.dev/', 'chaos.example/')
    const { text } = await inject([other], { settings: [SETTINGS.pathname] })
    expect(text).toContain('chaos.example/status')
    expect((await uninject(text)).told).toMatch(/nothing was injected/)
    const back = await uninject(text, { settings: [SETTINGS.pathname] })
    expect(back.text).toBe(other)
  })

  it('refuses a status that it did not write', async () => {
    const { code, told } = await uninject(pod().replace('inject: "true"', 'status: "{}"'))
    expect(code).toBe(1)
    expect(told).toMatch(/invalid_status.*was not written by the injector/)
  })
})

function bomb(): string {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
  for (let i = 1; i < 12; i++) lines.push(`a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}]`)
  return lines.join('\n')
}

const manifests = (outbound: string, more = ''): string => `apiVersion: v1
kind: Pod
metadata:
  name: agent
  namespace: shop
  annotations: { squall.dev/inject: "true", squall.dev/outbound: "${outbound}"${more} }
spec:
  containers: [{ name: app, image: agent:1, ports: [{ containerPort: 3000 }] }]
---
apiVersion: v1
kind: Service
metadata: { name: tools, namespace: shop }
spec: { selector: { app: tools }, ports: [{ port: 8080, targetPort: 3000 }] }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: tools, namespace: shop }
spec:
  template:
    metadata: { labels: { app: tools }, annotations: { squall.dev/inject: "true" } }
    spec: { containers: [{ name: app, image: tools:1, ports: [{ containerPort: 3000 }] }] }
`
const CANARY = `---
apiVersion: v1
kind: Pod
metadata: { name: canary, namespace: shop, labels: { app: tools } }
spec: { containers: [{ name: app, image: tools:2 }] }
`

describe('the trust in markers of an injected pod', () => {
  const trusts = async (text: string): Promise<boolean> => {
    const { code, text: injected, told } = await inject(text)
    expect(code, told).toBe(0)
    return injected.includes('--trust-markers')
  }

  it.each([
    'http://tools:8080',
    'http://tools.shop:8080',
    'http://tools.shop.svc:8080, db:5432',
    'http://tools.shop.svc.cluster.local:8080',
  ])('is set where %s leads to injected pods', async (outbound) => {
    expect(await trusts(manifests(outbound))).toBe(true)
  })

  it.each([
    'http://tools:8081',
    'http://tools.other:8080',
    'http://tools:8080, http://api.example.com:80',
    'tools:8080',
  ])('is not set for %s', async (outbound) => {
    expect(await trusts(manifests(outbound))).toBe(false)
  })

  it('is as the annotation says', async () => {
    const no = ', squall.dev/trust-markers: "false"'
    expect(await trusts(manifests('http://tools:8080', no))).toBe(false)
  })

  it('is not set where some pods of the Service have no sidecar', async () => {
    expect(await trusts(manifests('http://tools:8080') + CANARY)).toBe(false)
  })
})
