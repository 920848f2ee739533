// Times out after 10 s, instead of the SDK's 60 s, and notifies the server.
const LIMIT = {
  timeout: 10_000,
  // Progress resets the timeout, up to this total.
  resetTimeoutOnProgress: true,
  maxTotalTimeout: 120_000,
}

/** Calls with SDK v1, where options are the third argument. */
export const callToolV1 = (client, params) => client.callTool(params, undefined, LIMIT)

/** Calls with SDK v2, where options are the second argument. */
export const callToolV2 = (client, params) => client.callTool(params, LIMIT)
