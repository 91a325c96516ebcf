// Emoji names. A name in the sprite (emoji.svg) is drawn from it, so the
// workspace looks the same where no colour emoji font is installed; other known
// names are shown as characters; unknown names stay as they were written.

import { h, use } from "../dom.js";

const CHARS = {
  "+1": "👍", "-1": "👎", thumbsup: "👍", thumbsdown: "👎", wave: "👋", clap: "👏", pray: "🙏", raised_hands: "🙌",
  muscle: "💪", ok_hand: "👌", point_right: "👉", point_left: "👈", point_up: "☝️", point_down: "👇", eyes: "👀", brain: "🧠",
  smile: "😄", grinning: "😀", slightly_smiling_face: "🙂", wink: "😉", joy: "😂", thinking_face: "🤔", sweat_smile: "😅",
  sob: "😭", cry: "😢", scream: "😱", sunglasses: "😎", nerd_face: "🤓", partying_face: "🥳", robot_face: "🤖", zzz: "💤",
  heart: "❤️", tada: "🎉", fire: "🔥", sparkles: "✨", star: "⭐", zap: "⚡", boom: "💥", rocket: "🚀", trophy: "🏆",
  medal: "🏅", sports_medal: "🏅", first_place_medal: "🥇", second_place_medal: "🥈", third_place_medal: "🥉", dart: "🎯", bulb: "💡",
  white_check_mark: "✅", heavy_check_mark: "✔️", ballot_box_with_check: "☑️", x: "❌", heavy_multiplication_x: "✖️",
  warning: "⚠️", no_entry: "⛔", no_entry_sign: "🚫", octagonal_sign: "🛑", rotating_light: "🚨", question: "❓", exclamation: "❗",
  heavy_exclamation_mark: "❗", grey_question: "❔", information_source: "ℹ️", red_circle: "🔴", large_orange_circle: "🟠",
  large_yellow_circle: "🟡", large_green_circle: "🟢", large_blue_circle: "🔵", large_purple_circle: "🟣", white_circle: "⚪",
  black_circle: "⚫", large_red_square: "🟥", large_green_square: "🟩", large_yellow_square: "🟨", large_orange_square: "🟧",
  large_blue_square: "🟦", white_large_square: "⬜", black_large_square: "⬛",
  hourglass: "⌛", hourglass_flowing_sand: "⏳", stopwatch: "⏱️", alarm_clock: "⏰", clock1: "🕐", clock3: "🕒", calendar: "📅", date: "📅",
  arrow_right: "➡️", arrow_left: "⬅️", arrow_up: "⬆️", arrow_down: "⬇️", arrows_counterclockwise: "🔄", repeat: "🔁",
  rewind: "⏪", fast_forward: "⏩", arrow_forward: "▶️", double_vertical_bar: "⏸️", black_square_for_stop: "⏹️", leftwards_arrow_with_hook: "↩️",
  wrench: "🔧", hammer: "🔨", hammer_and_wrench: "🛠️", gear: "⚙️", toolbox: "🧰", broom: "🧹", wastebasket: "🗑️", recycle: "♻️",
  package: "📦", whale: "🐳", ship: "🚢", anchor: "⚓", wheel_of_dharma: "☸️", computer: "💻", cd: "💿", floppy_disk: "💾",
  mag: "🔍", mag_right: "🔎", microscope: "🔬", test_tube: "🧪", petri_dish: "🧫", scroll: "📜", memo: "📝", pencil: "📝", pencil2: "✏️",
  clipboard: "📋", page_facing_up: "📄", books: "📚", book: "📖", bookmark: "🔖", pushpin: "📌", round_pushpin: "📍", paperclip: "📎", link: "🔗",
  bar_chart: "📊", chart_with_upwards_trend: "📈", chart_with_downwards_trend: "📉", label: "🏷️", key: "🔑", lock: "🔒", unlock: "🔓",
  bell: "🔔", no_bell: "🔕", speech_balloon: "💬", thought_balloon: "💭", loudspeaker: "📢", mega: "📣", mortar_board: "🎓", teacher: "🧑‍🏫",
  student: "🧑‍🎓", construction: "🚧", traffic_light: "🚦", vertical_traffic_light: "🚦", checkered_flag: "🏁", triangular_flag_on_post: "🚩",
  fire_extinguisher: "🧯", sos: "🆘", new: "🆕", ok: "🆗", one: "1️⃣", two: "2️⃣", three: "3️⃣", four: "4️⃣", five: "5️⃣", "100": "💯",
  seedling: "🌱", herb: "🌿", bug: "🐛", ghost: "👻", skull: "💀", coffee: "☕", cyclone: "🌀", cloud: "☁️", sunny: "☀️", snowflake: "❄️",
  wheelchair: "♿", door: "🚪", electric_plug: "🔌", satellite_antenna: "📡", globe_with_meridians: "🌐", house: "🏠", envelope: "✉️",
};

// Names of one character share its drawing, kept under the first of them.
const FIRST = {};
for (const [name, char] of Object.entries(CHARS)) FIRST[char] ??= name;

let drawn = new Set();

/** loadSprite learns which names the sprite has; without it characters are used. */
export async function loadSprite(url) {
  try {
    const res = await fetch(url);
    const text = res.ok ? await res.text() : "";
    drawn = new Set([...text.matchAll(/<symbol id="e-([^"]+)"/g)].map((m) => m[1]));
  } catch {
    drawn = new Set();
  }
}

/** emoji returns a node for :name:. */
export function emoji(name) {
  const char = Object.hasOwn(CHARS, name) ? CHARS[name] : "";
  const key = FIRST[char];
  const label = `:${name}:`;
  if (drawn.has(key)) {
    const img = use(`/emoji.svg#e-${key}`, "emoji");
    img.setAttribute("role", "img");
    img.setAttribute("aria-label", label);
    return img;
  }
  if (!char) return document.createTextNode(label);
  return h("span", { class: "emoji-char", role: "img", "aria-label": label, title: label, text: char });
}

/** names lists what completion may offer after a colon. */
export const names = () => Object.keys(CHARS);
