// Saves the ratings of an annotation form as a CSV with the columns uid, caption and rating.
const quoted = text => `"${text.replaceAll('"', '""')}"`
const form = document.querySelector("form")
form.addEventListener("submit", event => event.preventDefault())
document.querySelector("#save").addEventListener("click", () => {
  const rows = [...form.querySelectorAll("fieldset")].map(field => {
    const uid = field.dataset.uid
    const given = field.querySelector("input[type=number], input:checked")
    const caption = field.querySelector("p").textContent
    // An apostrophe keeps spreadsheets from reading a caption as a formula.
    return [uid, /^[=+\-@']/.test(caption) ? `'${caption}` : caption, given ? given.value : ""]
  })
  const lines = [["uid", "caption", "rating"], ...rows].map(row => row.map(quoted).join(","))
  const link = document.createElement("a")
  link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }))
  link.download = "ratings.csv"
  link.click()
  const rated = rows.filter(row => row[2] !== "").length
  document.querySelector("#done").textContent = `${rated} of ${rows.length} rated`
})
