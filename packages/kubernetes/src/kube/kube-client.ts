import { type Fields, fieldsOf, listOf, textOf } from '#base'
import { type KubeRequest, KubeConnection, type PatchType } from './kube-connection.ts'
import { isKubeError, KubeError } from './kube-error.ts'
import { describe, type Limits, type ObjectRef, pathOf, type WriteLimits } from './resources.ts'

/** Says when to delete, and what becomes of the objects that the resource owns. */
interface DeleteOptions {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly propagationPolicy?: 'Background' | 'Foreground'
}

/** Returns what is kept of a page of a list, so that large lists need little memory. */
type KeepPage<Item> = (page: readonly Fields[]) => readonly Item[] | Promise<readonly Item[]>

const PAGE = 500
/** More than the pods of the largest clusters, with some lists that start over. */
const MAX_PAGES = 400
const GONE = 410

/** Reads and changes the resources of one API server. */
export class KubeClient extends KubeConnection {
  get(ref: ObjectRef, limits: Limits = {}): Promise<Fields> {
    return this.#resource('read', ref, { method: 'GET' }, limits)
  }

  /** Reads one resource; undefined where it does not exist. */
  async find(ref: ObjectRef, limits: Limits): Promise<Fields | undefined> {
    return this.get(ref, limits).catch((error: unknown) => {
      if (isKubeError(error, 'not_found')) return undefined
      throw error
    })
  }

  create(ref: ObjectRef, body: Fields, limits: WriteLimits = {}): Promise<Fields> {
    const path = pathOf({ ...ref, name: undefined })
    return this.#resource('create', ref, { method: 'POST', path, body }, limits)
  }

  /** Replaces one resource; with a `resourceVersion` in it only when nobody changed it since. */
  replace(ref: ObjectRef, body: Fields, limits: Limits = {}): Promise<Fields> {
    return this.#resource('update', ref, { method: 'PUT', body }, limits)
  }

  patch(ref: ObjectRef, patch: PatchType, body: Fields, limits: WriteLimits = {}): Promise<Fields> {
    return this.#resource('patch', ref, { method: 'PATCH', body, patch }, limits)
  }

  /** Deletes one resource; with preconditions only when nobody changed it since. */
  delete(ref: ObjectRef, limits: Limits = {}, body: DeleteOptions = {}): Promise<Fields> {
    return this.#resource('delete', ref, { method: 'DELETE', body }, limits)
  }

  /**
   * Lists the resources of a kind, and keeps of each page what `keep` returns. Starts over when the
   * API server no longer knows the list that the pages belong to.
   */
  async list<Item = Fields>(
    ref: ObjectRef,
    selector?: string,
    limits: Limits = {},
    keep: KeepPage<Item> = (page) => page as readonly Item[],
  ): Promise<readonly Item[]> {
    let kept: Item[] = []
    let next: string | undefined
    for (let page = 0; page < MAX_PAGES; page++) {
      const query = { limit: String(PAGE), continue: next, labelSelector: selector }
      try {
        const response = await this.#resource('list', ref, { method: 'GET', query }, limits)
        kept.push(...(await keep(listOf(response['items']))))
        next = textOf(fieldsOf(response['metadata'])['continue'])
        if (!next) return kept
      } catch (error) {
        if (!next || !(error instanceof KubeError) || error.status !== GONE) throw error
        kept = []
        next = undefined
      }
    }
    const wrong = `cannot ${describe('list', ref)}: there are more than ${MAX_PAGES * PAGE}`
    throw new KubeError('too_large', `${wrong}; select a namespace or labels`)
  }

  async #resource(
    verb: string,
    ref: ObjectRef,
    request: Pick<KubeRequest, 'method' | 'body' | 'patch' | 'query'> & { readonly path?: string },
    { dryRun, ...limits }: WriteLimits,
  ): Promise<Fields> {
    const query = { dryRun: dryRun === true ? 'All' : undefined }
    const what = describe(verb, ref)
    return fieldsOf(await this.request({ path: pathOf(ref), query, what, ...request, ...limits }))
  }
}
