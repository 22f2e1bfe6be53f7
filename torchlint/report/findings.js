"use strict";
// Filters: a finding is shown when each of its values is checked and the words occur in it. Without a script all are shown.
const form = document.getElementById("filters");
const rows = [...document.querySelectorAll("[data-finding]")];
const told = new Map(rows.map((row) => {
  const section = row.closest("section");
  return [row, `${section ? section.querySelector("h2").textContent : ""} ${row.textContent}`.toLowerCase()];
}));

function choose() {
  const given = new FormData(form);
  const boxes = [...new Set([...form.querySelectorAll("input[type=checkbox]")].map((box) => box.name))];
  const words = String(given.get("text")).toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const fits = boxes.every((name) => row.dataset[name] === "" || given.getAll(name).includes(row.dataset[name]));
    row.hidden = !fits || !words.every((word) => told.get(row).includes(word));
    shown += Number(!row.hidden && row.id !== "");
  }
  for (const kind of [".excerpt", "section"]) {
    for (const part of document.querySelectorAll(kind)) {
      part.hidden = ![...part.querySelectorAll("[data-finding]")].some((row) => !row.hidden);
    }
  }
  const all = rows.filter((row) => row.id !== "").length;
  document.getElementById("shown").textContent = `${shown} of ${all} findings`;
}

function copied(button, done) {
  button.textContent = done ? "copied" : "select and copy by hand";
  setTimeout(() => { button.textContent = "copy"; }, 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  event.preventDefault();
  const text = button.dataset.copy;
  if (navigator.clipboard) {
    navigator.clipboard.writeText(text).then(() => copied(button, true), () => copied(button, false));
    return;
  }
  // Pages of some services have no clipboard; a field that is selected can be copied all the same.
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  copied(button, document.execCommand("copy"));
  field.remove();
});

if (form) {
  form.addEventListener("input", choose);
  form.addEventListener("submit", (event) => event.preventDefault());
  choose();
}
