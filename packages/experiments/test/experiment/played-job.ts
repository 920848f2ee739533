import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Program, startProgram } from '../../../../test/support/commands.ts'
import type { PodsStage } from './pods-stage.ts'

/** A controller and a kubelet that run the containers of Jobs as processes of this machine. */
export interface PlayedJobs {
  /** The containers that were started. */
  readonly started: readonly Program[]
  /** The Jobs as they were created. */
  readonly jobs: readonly Job[]
  close(): Promise<void>
}

interface Job {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  readonly spec: { readonly template: { readonly spec: PodSpec } }
}

interface PodSpec {
  readonly serviceAccountName: string
  readonly containers: readonly {
    readonly args: readonly string[]
    readonly image: string
    readonly env?: readonly { readonly name: string; readonly value?: string }[]
  }[]
  readonly volumes: readonly {
    readonly configMap?: {
      readonly items: readonly { readonly key: string; readonly path: string }[]
    }
  }[]
}

const JOBS = '/apis/batch/v1/namespaces/shop/jobs'
const IMAGE_TROUBLE = { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } }

/** Writes a plan into a directory of its own, and returns its path. */
export async function planFile(stage: PodsStage, changes: object = {}): Promise<string> {
  const directory = join(stage.shop.directory, 'plans')
  await mkdir(directory, { recursive: true })
  const file = join(directory, 'plan.yaml')
  await writeFile(file, stage.text(changes as Record<string, unknown>))
  return file
}

/** Returns the arguments that run a plan as a Job. */
export function inCluster(
  { shop: { directory, kubeconfig } }: PodsStage,
  plan: string,
  ...args: readonly string[]
): readonly string[] {
  const kept = ['--experiments', join(directory, 'experiments'), '--kubeconfig', kubeconfig]
  return ['experiment', 'run', plan, '--in-cluster', ...kept, ...args]
}

/** The things that a run leaves in the cluster. */
export function leftIn({ shop }: PodsStage): readonly string[] {
  return [...shop.api.store.keys()].filter((path) => path.includes('squall-experiment-'))
}

/** The account of the Jobs. */
export const ACCOUNT = '/api/v1/namespaces/shop/serviceaccounts/squall-experiment'

/** Plays them in a cluster. A Job whose image is `absent` waits for it for ever. */
export function playJobs({ shop }: PodsStage): PlayedJobs {
  const { api, directory, kubeconfig } = shop
  const { before } = api
  const started: Program[] = []
  const jobs: Job[] = []
  const files: string[] = []

  async function start(job: Job): Promise<void> {
    const { name, labels } = job.metadata
    const { containers, volumes } = job.spec.template.spec
    const path = `/api/v1/namespaces/shop/pods/${name}-1`
    const set = (state: object): void => {
      const containerStatuses = [{ name: 'experiment', state }]
      api.put(path, { metadata: { labels }, status: { containerStatuses } })
    }
    const [{ args, image, env = [] } = { args: [], image: '', env: [] }] = containers
    if (image === 'absent') return set(IMAGE_TROUBLE)
    const root = await mkdtemp(join(directory, 'container-'))
    files.push(root)
    const configMap = api.store.get(`/api/v1/namespaces/shop/configmaps/${name}`)
    const data = configMap?.['data'] as Record<string, string>
    for (const { key, path: below } of volumes[0]!.configMap!.items) {
      const file = join(root, 'plan', below)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, data[key]!)
    }
    const placed = args.map((arg) => arg.replace(/(^|=)(\/plan|\/tmp)\//, `$1${root}$2/`))
    const given = Object.fromEntries(env.map((each) => [each.name, each.value ?? '']))
    const program = startProgram(placed, { KUBECONFIG: kubeconfig, ...given })
    started.push(program)
    api.logs.set(`shop/${name}-1/experiment`, () => `${program.stderr()}${program.stdout()}`)
    set({ running: {} })
    void program.ended.then(({ code }) => set({ terminated: { exitCode: code, reason: 'End' } }))
  }

  api.before = async (seen) => {
    const status = await before(seen)
    if (status !== undefined) return status
    if (seen.method === 'POST' && seen.path === JOBS) {
      const job = seen.body as unknown as Job
      jobs.push(job)
      await start(job)
    }
    if (seen.method === 'DELETE' && seen.path.startsWith(`${JOBS}/`)) {
      for (const program of started) program.signal('SIGTERM')
      // Kubernetes deletes what the Job owns.
      api.store.delete(seen.path.replace(JOBS, '/api/v1/namespaces/shop/configmaps'))
    }
    // A log that is followed ends with its container.
    if (seen.query.has('follow')) await started[0]?.ended
    return undefined
  }
  return {
    started,
    jobs,
    close: async () => {
      for (const program of started) await program.kill()
      for (const each of files) await rm(each, { recursive: true })
    },
  }
}
