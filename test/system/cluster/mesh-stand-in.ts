import {
  createCa,
  issueServer,
} from '../../../packages/kubernetes/src/webhook/issue-certificate.ts'
import { APP_IMAGE } from '../pod-images.ts'

const NAMESPACE = 'mesh'
const HOST = 'mesh.mesh.svc'
/** Probes are led to this port of the agent, as Istio's are. */
export const AGENT_PORT = 15020

/**
 * Answers each review of a pod that has no agent yet: adds one, and leads readiness probes to it.
 */
const WEBHOOK = `
const { createServer } = require('node:https')
const { readFileSync } = require('node:fs')
const agent = ${JSON.stringify(agentSource())}
const tls = { cert: readFileSync('/tls/tls.crt'), key: readFileSync('/tls/tls.key') }
createServer(tls, async (req, res) => {
  let text = ''
  for await (const part of req) text += part
  const { request } = JSON.parse(text)
  const { spec } = request.object
  const patch = []
  if (!spec.containers.some(({ name }) => name === 'istio-proxy')) {
    const probers = {}
    spec.containers.forEach(({ name, readinessProbe, ports }, i) => {
      if (!readinessProbe?.httpGet) return
      const path = '/app-health/' + name + '/readyz'
      const { httpGet } = readinessProbe
      const port = ports?.find((each) => each.name === httpGet.port)?.containerPort ?? httpGet.port
      probers[path] = { path: httpGet.path, port }
      const value = { path, port: ${AGENT_PORT} }
      patch.push({ op: 'replace', path: '/spec/containers/' + i + '/readinessProbe/httpGet', value })
    })
    const env = [{ name: 'PROBERS', value: JSON.stringify(probers) }]
    const command = ['node', '-e', agent]
    const value = { name: 'istio-proxy', image: '${APP_IMAGE}', imagePullPolicy: 'Never', command, env }
    patch.push({ op: 'add', path: '/spec/containers/-', value })
  }
  const response = { uid: request.uid, allowed: true, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }
  res.setHeader('content-type', 'application/json')
  res.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }))
}).listen(8443)
`

/** Serves the probes that were led to the agent. */
function agentSource(): string {
  return `
const { createServer, get } = require('node:http')
const probers = JSON.parse(process.env.PROBERS)
createServer((req, res) => {
  const to = probers[req.url]
  if (!to) return res.writeHead(404).end()
  get({ host: '127.0.0.1', ...to }, (got) => res.writeHead(got.statusCode).end(got.resume() && ''))
    .on('error', () => res.writeHead(502).end())
}).listen(${AGENT_PORT})
`
}

/**
 * A stand-in for Istio's webhook, which comes before Squall's in one namespace and after it in
 * another.
 */
export function meshManifests(before: string, after: string): string {
  const day = 86_400_000
  const during = { from: new Date(Date.now() - day), until: new Date(Date.now() + day) }
  const ca = createCa('mesh', during)
  const serving = issueServer(ca, [HOST], during)
  const metadata = { name: 'mesh', namespace: NAMESPACE }
  const labels = { app: 'mesh' }
  const container = {
    name: 'webhook',
    image: APP_IMAGE,
    imagePullPolicy: 'Never',
    command: ['node', '-e', WEBHOOK],
    readinessProbe: { tcpSocket: { port: 8443 }, periodSeconds: 1 },
    volumeMounts: [{ name: 'tls', mountPath: '/tls' }],
  }
  const items = [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      stringData: { 'tls.crt': serving.cert, 'tls.key': serving.key },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, labels },
      spec: { containers: [container], volumes: [{ name: 'tls', secret: { secretName: 'mesh' } }] },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: labels, ports: [{ port: 443, targetPort: 8443 }] },
    },
    // API servers ask webhooks in the order of their names; Squall's is named squall.
    ...[
      ['a-mesh', before],
      ['z-mesh', after],
    ].map(([name, namespace]) => ({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name },
      webhooks: [
        {
          name: `${name}.example.com`,
          clientConfig: {
            service: { name: 'mesh', namespace: NAMESPACE, path: '/' },
            caBundle: Buffer.from(ca.cert).toString('base64'),
          },
          rules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
          ],
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    })),
  ]
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
}
