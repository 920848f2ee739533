import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { APP_IMAGE, buildImages, SIDECAR_IMAGE, SQUALL_IMAGE, STORAGE } from '../pod-images.ts'
import { PAUSE_IMAGE } from './config-files.ts'
import { clusterProgram } from './programs.ts'
import type { Cluster } from './start-cluster.ts'

const run = promisify(execFile)

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** The sources of the images. */
const SOURCES = [
  'src',
  'packages',
  'scripts',
  'deploy/image',
  'examples/server.mjs',
  'Dockerfile',
  'package.json',
  'package-lock.json',
  'tsconfig.build.json',
]

/**
 * Builds what the cluster runs: the images of the tests with pods, unless they are newer than all
 * that they are made from, and the one that holds namespaces.
 */
export async function buildClusterImages(): Promise<void> {
  if ((await madeAt()) < (await changedAt())) await buildImages()
  const container = (await buildah('from', 'scratch')).trim()
  const context = await mkdtemp(join(tmpdir(), 'squall-pause-'))
  try {
    await copyFile(clusterProgram('pause'), join(context, 'pause'))
    await buildah('add', '-q', container, join(context, 'pause'), '/pause')
    await buildah('config', '--entrypoint', '["/pause"]', container)
    await buildah('commit', '-q', '--rm', container, PAUSE_IMAGE)
  } finally {
    await rm(context, { recursive: true, force: true })
  }
}

/** Brings them to the node, which asks no registry. */
export async function importImages(cluster: Cluster): Promise<void> {
  for (const image of [PAUSE_IMAGE, SQUALL_IMAGE, SIDECAR_IMAGE, APP_IMAGE]) {
    const archive = join(cluster.namespaces.directory, 'image.tar')
    await buildah('push', '-q', image, `docker-archive:${archive}:${image}`)
    await cluster.importImage(archive)
    await rm(archive)
  }
}

async function buildah(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('buildah', [...STORAGE, ...args], { maxBuffer: 16 * 1024 * 1024 })
  return stdout
}

/** When the oldest of them was made; 0 when one is not there. */
async function madeAt(): Promise<number> {
  const times = [SQUALL_IMAGE, SIDECAR_IMAGE, APP_IMAGE].map(async (image) => {
    const text = await buildah('inspect', '--type', 'image', image).catch(() => undefined)
    if (text === undefined) return 0
    return Date.parse((JSON.parse(text) as { Docker: { created: string } }).Docker.created)
  })
  return Math.min(...(await Promise.all(times)))
}

async function changedAt(): Promise<number> {
  const times = SOURCES.map(async (source) => {
    const path = join(ROOT, source)
    const within = (await stat(path)).isDirectory() ? await readdir(path, { recursive: true }) : []
    const files = ['', ...within].map(async (name) => (await stat(join(path, name))).mtimeMs)
    return Math.max(...(await Promise.all(files)))
  })
  return Math.max(...(await Promise.all(times)))
}
