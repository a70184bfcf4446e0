def write_page(made, progress):
    return ""
