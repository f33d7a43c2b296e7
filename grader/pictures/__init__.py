"""Drawing matrices: as text for messages, in colour on the terminal, and as SVG, HTML and PNG.

Nothing in here imports torch, so that a command can draw while another process is computing.
"""
