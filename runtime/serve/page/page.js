document.getElementById("page").textContent = "Baton";
