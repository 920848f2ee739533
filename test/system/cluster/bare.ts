import { buildClusterImages, importImages } from './images.ts'
import { createStage, type Stage } from './stage.ts'
import { type Cluster, nodeCluster } from './start-cluster.ts'

/** A cluster with the images and some namespaces, in which nothing is installed. */
export interface Bare {
  readonly cluster: Cluster
  readonly stage: Stage
}

/** Starts it. */
export async function bareCluster(...namespaces: readonly string[]): Promise<Bare> {
  await buildClusterImages()
  const cluster = await nodeCluster()
  try {
    await importImages(cluster)
    const stage = createStage(cluster)
    for (const name of namespaces) await stage.kubectl('create', 'ns', name)
    return { cluster, stage }
  } catch (error) {
    const logs = await cluster.lastLogs()
    await cluster.close()
    throw new Error(`${String(error)}\n${logs}`, { cause: error })
  }
}
