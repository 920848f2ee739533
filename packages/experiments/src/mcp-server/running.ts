interface Run {
  readonly target: string
  readonly stop: AbortController
  readonly ended: Promise<unknown>
}

/** The experiments that run in this process, by the ids of their proposals. */
export class RunningExperiments {
  readonly #runs = new Map<string, Run>()

  /** Returns the id of the experiment that runs on a target, if one does. */
  on(target: string): string | undefined {
    return [...this.#runs].find(([, run]) => run.target === target)?.[0]
  }

  /** Runs an experiment, which ends early when its client or `stop` asks for that. */
  async run<T>(
    { id, target }: { readonly id: string; readonly target: string },
    client: AbortSignal,
    experiment: (stop: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const stop = new AbortController()
    const ended = experiment(AbortSignal.any([stop.signal, client]))
    this.#runs.set(id, { target, stop, ended })
    try {
      return await ended
    } finally {
      this.#runs.delete(id)
    }
  }

  /** Ends experiments, all of them without an id, and resolves after their rollback. */
  async stop(id?: string): Promise<readonly string[]> {
    const chosen = [...this.#runs].filter(([each]) => id === undefined || each === id)
    for (const [, { stop }] of chosen) stop.abort()
    await Promise.allSettled(chosen.map(([, { ended }]) => ended))
    return chosen.map(([each]) => each)
  }
}
