/** The path of the control socket that `squall pre-stop` posts to. */
export const PRE_STOP_PATH = '/pre-stop'
