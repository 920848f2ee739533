// Sends a review of a pod that requests the sidecar to the webhook, as an API server does. The pod is never created.
import { existsSync, readFileSync } from 'node:fs'
import { request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'

const TRIES = 15
const MOUNTED = '/etc/squall/ca/ca.crt'
const { WEBHOOK_HOST: host, WEBHOOK_PORT: port = '443', WEBHOOK_CA: given } = process.env
const address = process.env[process.env.WEBHOOK_SERVICE] ?? host
const ca = given ?? (existsSync(MOUNTED) ? readFileSync(MOUNTED, 'utf8') : undefined)

const asks = { 'squall.dev/inject': 'true', 'squall.dev/mode': 'port', 'squall.dev/ports': '8080' }
const labels = { 'squall.dev/inject': 'true' }
const review = {
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: '00000000-0000-4000-8000-000000000000',
    kind: { group: '', version: 'v1', kind: 'Pod' },
    resource: { group: '', version: 'v1', resource: 'pods' },
    operation: 'CREATE',
    namespace: 'default',
    userInfo: { username: 'helm-test' },
    dryRun: true,
    oldObject: null,
    object: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'helm-test', namespace: 'default', annotations: asks, labels },
      spec: {
        containers: [
          { name: 'server', image: 'server', ports: [{ name: 'mcp', containerPort: 8080 }] },
        ],
      },
    },
  },
}

function say(text) {
  process.stdout.write(`${text}\n`)
}

function send(body) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const place = { host: address, port, servername: host, ca }
    const options = { ...place, path: '/mutate', method: 'POST', headers, timeout: 5000 }
    const sent = request(options, (response) => {
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk)).on('error', reject)
      response.on('end', () => resolve(Buffer.concat(chunks).toString()))
    })
    sent.on('timeout', () => sent.destroy(new Error('no response within 5 s'))).on('error', reject)
    sent.end(body)
  })
}

async function answer() {
  for (let tries = 1; ; tries++) {
    try {
      return JSON.parse(await send(JSON.stringify(review))).response
    } catch (error) {
      if (tries === TRIES) throw error
      say(`${host}: ${error.message}; trying again`)
      await sleep(2000)
    }
  }
}

try {
  const { allowed, patch, status, warnings = [] } = await answer()
  for (const warning of warnings) say(`warning: ${warning}`)
  if (allowed && patch !== undefined) {
    const count = JSON.parse(Buffer.from(patch, 'base64').toString()).length
    say(`${host} would inject the sidecar: ${count} changes`)
  } else {
    say(`${host} responds, but would not inject: ${status?.message ?? 'no patch'}`)
    process.exitCode = 1
  }
} catch (error) {
  say(`${host} does not respond: ${error.message}`)
  process.exitCode = 1
}
