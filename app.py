"""Starts Headwise: `streamlit run app.py` or `python app.py`.

The frame lies inside `pages/`: with a script beside a folder of that name, Streamlit would take the folder for an app
of its old kind, and a deep link opened first on a fresh server would miss the frame.
"""

import streamlit as st

app = st.App("pages/_frame.py")

if __name__ == "__main__":
    app.run()
