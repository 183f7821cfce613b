/**
 * @param {import("../i18n.js").Say} say
 * @param {number} age_us
 * @returns {string} how long ago, as a person would say it
 */
export function ago(say, age_us) {
  const seconds = Math.max(0, Math.round(age_us / 1e6));
  if (seconds < 2) return say("ago.now");
  if (seconds < 100) return say("ago.seconds", { n: seconds });
  if (seconds < 100 * 60) return say("ago.minutes", { n: Math.round(seconds / 60) });
  if (seconds < 48 * 3600) return say("ago.hours", { n: Math.round(seconds / 3600) });
  return say("ago.days", { n: Math.round(seconds / 86_400) });
}
