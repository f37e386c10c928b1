#!/usr/bin/env python3
"""Print what the QR codes in an image say, one on a line, as zxing-cpp reads them:

    .venv-objects/bin/python scripts/objects/read_qr.py IMAGE
"""

import sys

import zxingcpp
from PIL import Image

for code in zxingcpp.read_barcodes(Image.open(sys.argv[1]).convert("L"), formats=zxingcpp.BarcodeFormat.QRCode):
    print(code.text)
