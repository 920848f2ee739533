import type { State } from '#admin-api'
import {
  type ConfigMapKeys,
  expectedDigest,
  type InjectedPod,
  type RulesConfigMap,
} from '#kubernetes'

interface Version {
  /** The digest of the version in the experiment. */
  readonly digest: string
  readonly keys: ConfigMapKeys
  /** The digest that a sidecar reports, by its mount. */
  readonly reported: Map<string, string | undefined>
}

/** The digest of the version before the experiment. */
export const BEFORE = 'before'
/** The kubelet may deliver a version after several later ones were written. */
export const MAX_VERSIONS = 20

/**
 * Remembers the versions of a ConfigMap during an experiment. Sidecars report the digest of all
 * files that they mount, which differs from pod to pod; the experiment has the digest of its text.
 */
export class RulesVersions {
  readonly #versions: Version[] = []

  constructor(before: ConfigMapKeys) {
    this.#push(BEFORE, before)
  }

  /** The digest of the last version. */
  get last(): string {
    return this.#versions.at(-1)!.digest
  }

  /** Adds a version with one key changed, before it is written: a sidecar may report it at once. */
  add(digest: string, { key, text }: { readonly key: string; readonly text: string }): void {
    const keys = new Map(this.#versions.at(-1)!.keys).set(key, Buffer.from(text, 'utf8'))
    this.#push(digest, keys)
    // The version before the experiment stays.
    if (this.#versions.length > MAX_VERSIONS) this.#versions.splice(1, 1)
  }

  /** Replaces the keys of the last version by those that the API server keeps. */
  keep(keys: ConfigMapKeys): void {
    this.#push(this.#versions.pop()!.digest, keys)
  }

  /** Returns the state with the digests of the experiment; unknown digests stay. */
  translated(state: State, { rules: mount }: InjectedPod): State {
    const { rules, lastReload: last } = state
    const isAbsent = last?.result === 'absent'
    const digest = this.#known(rules.digest, isAbsent, mount)
    const reload = last && { ...last, digest: this.#known(last.digest, isAbsent, mount) ?? '' }
    return { ...state, rules: { ...rules, digest }, lastReload: reload }
  }

  #known(
    digest: string | null,
    isAbsent: boolean,
    mount: RulesConfigMap | undefined,
  ): string | null {
    if (mount === undefined) return digest
    const found = this.#versions.findLast((version) => {
      const expected = reportedBy(version, mount)
      return expected === undefined ? isAbsent || digest === null : expected === digest
    })
    return found?.digest ?? digest
  }

  #push(digest: string, keys: ConfigMapKeys): void {
    this.#versions.push({ digest, keys, reported: new Map() })
  }
}

function reportedBy({ keys, reported }: Version, mount: RulesConfigMap): string | undefined {
  const key = JSON.stringify(mount)
  if (!reported.has(key)) reported.set(key, expectedDigest(keys, mount))
  return reported.get(key)
}
