import type { SidecarAdmin } from '../../admin/api-client.ts'
import { SidecarFaults } from './sidecar-faults.ts'

/** The faults of calls whose responses carry no mark, as sidecars know them. */
export type UnmarkedFaults = Pick<SidecarFaults, 'marksOf' | 'missed' | 'close'>

/**
 * Begins to ask several sidecars, since a load does not know which of them a call went through;
 * undefined for none. Throws a `LoadError` when one does not answer.
 */
export async function openFaults(
  admins: readonly SidecarAdmin[],
): Promise<UnmarkedFaults | undefined> {
  if (admins.length === 0) return undefined
  const opened = await Promise.allSettled(admins.map((admin) => SidecarFaults.open(admin)))
  const all = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const close = (): void => {
    for (const each of all) each.close()
  }
  const failed = opened.find((each) => each.status === 'rejected')
  if (failed !== undefined) {
    close()
    throw failed.reason
  }
  return {
    get missed() {
      return all.reduce((sum, { missed }) => sum + missed, 0)
    },
    marksOf: async (tool, id) =>
      (await Promise.all(all.map((each) => each.marksOf(tool, id)))).flat(),
    close,
  }
}
