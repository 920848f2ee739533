// Gives up after 10 s, instead of the SDK's 60 s, and notifies the server.
const LIMIT = {
  timeout: 10_000,
  // Progress restarts the limit, up to this total.
  resetTimeoutOnProgress: true,
  maxTotalTimeout: 120_000,
}

/** SDK v1: the options are the third argument. */
export const callToolV1 = (client, params) => client.callTool(params, undefined, LIMIT)

/** SDK v2: they are the second. */
export const callToolV2 = (client, params) => client.callTool(params, LIMIT)
